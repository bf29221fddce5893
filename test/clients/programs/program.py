"""Signs in, makes a device, sends points and reads a page with the generated client for Python."""

import os

from openapi_client import (
    AccountsApi,
    ApiClient,
    Configuration,
    DevicesApi,
    GeofencesApi,
    LocationHistoryApi,
    NewDevice,
    NewGeofence,
    NewPoint,
    NewPoints,
    NewPointTimestamp,
    NewPolygon,
    NewShape,
    PostAuthLoginBody,
)
from openapi_client.exceptions import NotFoundException

url = os.environ["FIELDLINE_URL"]


def client(token=None):
    return ApiClient(Configuration(host=url, access_token=token))


login = PostAuthLoginBody(email=os.environ["FIELDLINE_EMAIL"], password=os.environ["FIELDLINE_PASSWORD"])
signed_in = AccountsApi(client()).post_auth_login(login)
assert signed_in.status is True
session = client(signed_in.token)

devices = DevicesApi(session)
device = devices.post_device(NewDevice(name="Van 12")).data

points = [
    NewPoint(
        lat=52.52,
        lng=13.405,
        timestamp=NewPointTimestamp("2026-11-21T10:00:00Z"),
        speed=12.5,
        attributes={"ignition": True},
    ),
    NewPoint(lat=52.53, lng=13.406, timestamp=NewPointTimestamp("2026-11-21T10:00:10Z"), battery=None),
]
sent = LocationHistoryApi(client(device.key)).post_location_history_bulk(NewPoints(points=points))
assert sent.data.accepted == 2

history = LocationHistoryApi(session)
page = history.get_location_histories(device_id=device.id, limit=1)
while not page.data:
    page = history.get_location_histories(device_id=device.id, limit=1)
assert page.data[0].attributes == {"ignition": True} and page.data[0].speed == 12.5
following = history.get_location_histories(device_id=device.id, limit=1, cursor=page.pagination.next_cursor)
assert following.data[0].lat == 52.53 and following.data[0].battery is None

polygon = NewPolygon(type="polygon", coordinates=[[13.37, 52.51], [13.38, 52.51], [13.38, 52.52]])
fence = GeofencesApi(session).post_geofence(NewGeofence(name="Depot", shape=NewShape(polygon))).data
assert fence.shape.actual_instance.type == "polygon"
assert fence.shape.actual_instance.coordinates[0][0] == 13.37

try:
    devices.get_device_by_id(fence.id)
    raise AssertionError("a device was found that is none")
except NotFoundException as error:
    assert error.data.message
