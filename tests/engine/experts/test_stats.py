from engine.experts.stats import ExpertStats, Tally


def test_the_difference_of_two_snapshots_is_what_happened_between() -> None:
    tally = Tally()
    tally.hits, tally.misses = 5, 5
    before = tally.stats()
    tally.hits, tally.bytes_read = 8, 100
    with tally.waiting():
        pass
    after = tally.stats()
    between = after - before
    assert (between.hits, between.misses, between.bytes_read) == (3, 0, 100)
    assert between.wait_s > 0
    assert between.hit_rate == 1
    assert before + between == after


def test_without_look_ups_the_hit_rate_is_nothing() -> None:
    assert ExpertStats().hit_rate == 0
    assert ExpertStats(hits=1, misses=3).hit_rate == 0.25
