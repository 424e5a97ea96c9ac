"""What the tables are, in this version. How they became so, and are made, is in `migrations`.

Their names begin with `cepheid_`: a fleet's history may share a database with others.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

metadata = MetaData()

version = Table("cepheid_version", metadata, Column("version", Integer, nullable=False))

jobs = Table(
    "cepheid_jobs",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("uid", Text, nullable=False, unique=True),
    Column("namespace", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("series", Text, nullable=False),
    Column("template", Text),
    Column("who", Text),  # the user, or the service account
    Column("outcome", Text, nullable=False),
    Column("until_us", BigInteger, nullable=False),  # the end, or the last look; since 1970
    Column("document", LargeBinary, nullable=False),  # the profile, as `rows` packs it
    Column("workers", LargeBinary),  # all of them, likewise; only of a large job
    Index("cepheid_jobs_until", "until_us"),
    Index("cepheid_jobs_who", "who", "until_us"),
    Index("cepheid_jobs_namespace", "namespace", "until_us"),
    Index("cepheid_jobs_series", "series", "until_us"),
    Index("cepheid_jobs_name", "name", "until_us"),
    Index("cepheid_jobs_template", "template", "until_us"),
)

series = Table(
    "cepheid_series",
    metadata,
    Column("job_id", BigInteger, ForeignKey(jobs.c.id, ondelete="CASCADE"), primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("worker", Text, primary_key=True),  # empty: the whole job
    Column("begin_ms", BigInteger, primary_key=True),
    Column("packed", LargeBinary, nullable=False),  # see `samples`
)

acts = Table(
    "cepheid_acts",
    metadata,
    Column("uid", Text, primary_key=True),  # of the job
    Column("what", Text, primary_key=True),
    Column("occasion", Text, primary_key=True),  # the same is written down once
    Column("at_us", BigInteger, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("words", Text, nullable=False),
    Index("cepheid_acts_at", "at_us"),
)
