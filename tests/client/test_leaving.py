"""When an attachment ends by itself; time is an argument."""

from __future__ import annotations

from agent_pty.client.leaving import Deadline, Left, Settling


def test_trial_25_a_deadline_is_kept_whatever_happens() -> None:
    """
    Neither the end of the input nor output changes when a timeout ends the attachment.
    """
    end = Deadline(10.0)

    end.input_ended(1.0)
    end.output_came(9.0)

    assert (end.wait(9.0), end.wait(11.0)) == (1.0, 0.0)
    assert [end.has_come(now) for now in (9.9, 10.0)] == [False, True]
    assert end.reason is Left.TIMED_OUT


def test_trial_25_open_input_never_settles() -> None:
    """
    While somebody may still type, silence ends nothing.
    """
    end = Settling(lambda: False)

    end.output_came(1.0)

    assert end.wait(100.0) is None
    assert not end.has_come(100.0)


def test_trial_25_silence_after_the_input_ends_an_attachment() -> None:
    """
    Output begins the silence anew; half a second of it is enough where nothing works.
    """
    end = Settling(lambda: False)
    end.input_ended(1.0)

    end.output_came(1.4)

    assert not end.has_come(1.5)
    assert end.wait(1.5) is not None
    assert end.has_come(1.9)
    assert end.reason is Left.INPUT_ENDED


def test_trial_25_a_busy_program_is_given_more_time_but_not_all() -> None:
    """
    It is asked again twice a second, and after five seconds of silence no more.
    """
    asked: list[float] = []
    now = 0.0

    def is_busy() -> bool:
        asked.append(now)
        return True

    end = Settling(is_busy)
    end.input_ended(0.0)
    while not end.has_come(now):
        now += end.wait(now) or 0.0

    assert now == 5.0
    assert asked == [0.5 * step for step in range(1, 10)]
