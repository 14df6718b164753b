"""What is known of a failure, for `diagnosis`: of an op alone (`rule`), of how a tensor's gradient is put together
(`accumulation`), of a formula (`formula`); each at the point of the failure and at others nearby."""

#: At how many points besides its own a failure is looked at.
MORE_POINTS = 2
