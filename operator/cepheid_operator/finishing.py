"""What happens to a profile when its job is over: compared, told of, archived, or not kept."""

from cepheid.jobprofile import JobProfile
from cepheid_operator.archive import Archive
from cepheid_operator.comparing import Comparing
from cepheid_operator.composing import Story
from cepheid_operator.measuring import Answer


class Finishing:
    def __init__(self, comparing: Comparing, archive: Archive) -> None:
        self._comparing, self._archive = comparing, archive
        self._passed_over: set[str] = set()

    def compared(self, profile: JobProfile) -> JobProfile:
        """With what is worse than in earlier runs; it will not change any more."""
        return self._comparing.compared(profile)

    def completed(self, profile: JobProfile, story: Story, answer: Answer) -> None:
        """It stands."""
        self._comparing.tell(profile)
        self._archive.offer(profile, story.workers(), answer.series)

    def passes_over(self, profile: JobProfile, story: Story) -> bool:
        """Whether it would be deleted as soon as it stood: an old job that nobody took away."""
        if not self._archive.is_superfluous(profile):
            return False
        self.has_no_place(profile, story)
        return True

    def has_no_place(self, profile: JobProfile, story: Story) -> None:
        """No object can hold it; the history, where there is one, can."""
        self._passed_over.add(profile.job.uid)
        self._archive.offer_homeless(profile, story.workers())

    def is_passed_over(self, uid: str) -> bool:
        return uid in self._passed_over
