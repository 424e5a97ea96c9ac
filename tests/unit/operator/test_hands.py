"""Several requests at once, and none after the server is found to be away."""

import threading

from cepheid.annotations.api import ApiServer
from cepheid.errors import ForbiddenError, LeaseLostError, UnavailableError
from cepheid_operator.hands import COUNT, Hands


def test_results_come_in_order_and_a_refusal_stops_nobody_else() -> None:
    def refused() -> int:
        raise ForbiddenError("no")

    results = Hands(ApiServer).all([lambda: 1, refused, lambda: 3])
    assert results[0] == 1
    assert isinstance(results[1], ForbiddenError)
    assert results[2] == 3


def test_once_the_server_is_away_the_rest_gets_no_try() -> None:
    tried = []

    def away() -> None:
        tried.append(1)
        raise UnavailableError("away")

    results = Hands(ApiServer).all([away] * 100)
    assert all(isinstance(result, UnavailableError) for result in results)
    assert len(tried) <= COUNT


def test_a_lost_lease_is_a_result_too() -> None:
    def lost() -> None:
        raise LeaseLostError("lost")

    assert isinstance(Hands(ApiServer).all([lost])[0], LeaseLostError)


def test_each_thread_has_a_connection_of_its_own() -> None:
    hands = Hands(ApiServer)
    meet = threading.Barrier(COUNT)

    def server() -> ApiServer:
        meet.wait(10)
        assert hands.server() is hands.server()
        return hands.server()

    assert len({id(one) for one in hands.all([server] * COUNT)}) == COUNT
