"""Jobs, the threads that compute them, and the callers who help."""

import threading
import time

import pytest

from engine.evaluators.crew import Crew

LONG, SHORT = 1.0, 0.0
_PATIENCE = 20.0


@pytest.mark.parametrize("seconds", [LONG, SHORT])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_job_is_computed_once_whoever_waits_for_it(threads: int, seconds: float) -> None:
    crew, found = Crew(threads, "test"), list[int]()
    jobs = [crew.send(lambda number=number: found.append(number), seconds) for number in range(50)]  # type: ignore[misc]
    callers = [threading.Thread(target=lambda part=part: [crew.wait(job) for job in part]) for part in (jobs, jobs)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(_PATIENCE)
    crew.close()
    assert sorted(found) == list(range(50))
    assert all(job.future.done() for job in jobs)


def test_jobs_are_computed_though_nobody_waits() -> None:
    crew, found = Crew(2, "test"), list[int]()
    for number in range(10):
        crew.send(lambda number=number: found.append(number), SHORT)  # type: ignore[misc]
    crew.close()
    assert found == list(range(10))


def test_who_waits_for_a_short_job_computes_it_while_the_crew_is_busy() -> None:
    crew, go_on, began = Crew(2, "test"), threading.Event(), threading.Event()
    thread: list[int] = []

    def blocked() -> None:
        began.set()
        assert go_on.wait(_PATIENCE)

    first = crew.send(blocked, SHORT)
    assert began.wait(_PATIENCE)
    second = crew.send(lambda: thread.append(threading.get_ident()), SHORT)
    assert crew.wait(second)
    assert thread == [threading.get_ident()]
    assert not crew.wait(first, 0.01)
    go_on.set()
    assert crew.wait(first)
    crew.close()


def test_nobody_is_kept_from_looking_up_by_a_long_job() -> None:
    crew, go_on, began = Crew(1, "test"), threading.Event(), threading.Event()

    def blocked() -> None:
        began.set()
        assert go_on.wait(_PATIENCE)

    jobs = [crew.send(blocked, LONG) for _ in range(3)]
    assert began.wait(_PATIENCE)
    assert not crew.wait(jobs[-1], 0.01)
    go_on.set()
    assert crew.wait(jobs[-1])
    assert [job.future.exception() for job in jobs] == [None] * 3, "the caller waited, or computed, until a job gave up"
    crew.close()


def test_never_more_threads_compute_than_there_are_cores() -> None:
    crew, lock, at_work, most = Crew(2, "test"), threading.Lock(), 0, 0

    def compute() -> None:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        time.sleep(0.001)
        with lock:
            at_work -= 1

    def call() -> None:
        for _ in range(20):
            crew.wait(crew.send(compute, SHORT))

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(_PATIENCE)
    crew.close()
    assert most == 2


def test_what_a_job_raises_is_kept_for_whoever_waits_for_it() -> None:
    crew = Crew(2, "test")
    job = crew.send(lambda: 1 // 0, SHORT)  # type: ignore[arg-type,return-value]
    assert crew.wait(job)
    with pytest.raises(ZeroDivisionError):
        job.future.result()
    assert crew.wait(crew.send(lambda: None, SHORT))
    crew.close()
