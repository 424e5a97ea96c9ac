-- Version 1 as it was made in SQLite: never to be changed.
CREATE TABLE cepheid_version (version INTEGER NOT NULL);
INSERT INTO cepheid_version VALUES (1);
CREATE TABLE cepheid_jobs (
  id INTEGER NOT NULL PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,
  namespace TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  series TEXT NOT NULL,
  template TEXT,
  who TEXT,
  outcome TEXT NOT NULL,
  until_us BIGINT NOT NULL,
  document BLOB NOT NULL
);
CREATE INDEX cepheid_jobs_until ON cepheid_jobs (until_us);
CREATE INDEX cepheid_jobs_who ON cepheid_jobs (who, until_us);
CREATE INDEX cepheid_jobs_namespace ON cepheid_jobs (namespace, until_us);
CREATE INDEX cepheid_jobs_series ON cepheid_jobs (series, until_us);
CREATE INDEX cepheid_jobs_name ON cepheid_jobs (name, until_us);
INSERT INTO cepheid_jobs (uid, namespace, kind, name, series, template, who, outcome, until_us, document)
  VALUES ('00000000-0000-0000-0000-000000000001', 'research', 'Job', 'train-ü', 'train', NULL, 'ann', 'success', 1772323201000000, X'789c6d8fb14e03310c865f057961b9802f1515dc23b0523174731da3064452d9b92e55dfac1b2f86531d12432dcb923fffbf659fe0b3ee603a011df2bba8e55a60821d35de3f1e4718e02b97e4e4d5550314fa163b108b13151352de2fd84953ca25fc5c9cccb99b708970a32c31c2790013cd627f1bbadd89b7547ac32ad4a4ef8b18d7016388cf9bb89a103db72eb0467a4bf0f432e1d80552d2bff12ae0b8b99a97719a959a3ffe265c4bf23bd6f88003d4b971bd3e6633b398b9f4289a323767b9dddbdd472e02e75f4ab35c99');
INSERT INTO cepheid_jobs (uid, namespace, kind, name, series, template, who, outcome, until_us, document)
  VALUES ('00000000-0000-0000-0000-000000000002', 'research', 'Job', 'train-2', 'train', NULL, NULL, 'failed', 1772323202000000, X'789c6d8f3d0e83300c85efe299b426a8a8e5085d8b3a7433c115e94f8292d00571f71a44a50e589687cfef3dcb233c7c03d508d4db2b8768bd830a1a4aa6db7f72c8e0695d2be42caa0c1cbd39f6645848e0c8144cb762212990754a0b18ececc1b5d4c6584bc39441e46039fe02c46e0253e23942a32e156aa58fb52e2a44e99b0862a2b025389c2ad4b3805dfbb72e14e6f5625ed7ed1028c9ab1736deb572bac41d66e08764fcf2ca9dec4b02a62fb4b94fb9');
