import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AccountsApi;
import org.openapitools.client.api.DevicesApi;
import org.openapitools.client.api.GeofencesApi;
import org.openapitools.client.api.LocationHistoryApi;
import org.openapitools.client.model.*;

/** Signs in, makes a device, sends points and reads a page with the generated client for Java. */
public class Program {
  static final String URL = System.getenv("FIELDLINE_URL");

  static ApiClient client(String token) {
    ApiClient client = new ApiClient().setBasePath(URL);
    if (token != null) client.setBearerToken(token);
    return client;
  }

  static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  public static void main(String[] arguments) throws ApiException {
    PostAuthLoginBody login =
        new PostAuthLoginBody()
            .email(System.getenv("FIELDLINE_EMAIL"))
            .password(System.getenv("FIELDLINE_PASSWORD"));
    SignedIn signedIn = new AccountsApi(client(null)).postAuthLogin(login);
    check(signedIn.getStatus(), "signed in");
    ApiClient session = client(signedIn.getToken());

    DevicesApi devices = new DevicesApi(session);
    DeviceWithKey device = devices.postDevice(new NewDevice().name("Van 12"), null).getData();

    NewPoint first =
        new NewPoint()
            .lat(new BigDecimal("52.52"))
            .lng(new BigDecimal("13.405"))
            .timestamp(new NewPointTimestamp("2026-11-21T10:00:00Z"))
            .speed(new BigDecimal("12.5"))
            .attributes(Map.of("ignition", true));
    NewPoint second =
        new NewPoint()
            .lat(new BigDecimal("52.53"))
            .lng(new BigDecimal("13.406"))
            .timestamp(new NewPointTimestamp("2026-11-21T10:00:10Z"))
            .battery(null);
    PointsResultAnswer sent =
        new LocationHistoryApi(client(device.getKey()))
            .postLocationHistoryBulk(new NewPoints().points(List.of(first, second)), null);
    check(sent.getData().getAccepted() == 2, "accepted");

    PointPage page = read(session, device.getId(), null);
    while (page.getData().isEmpty()) page = read(session, device.getId(), null);
    check(page.getData().get(0).getSpeed().doubleValue() == 12.5, "speed");
    check(Boolean.TRUE.equals(page.getData().get(0).getAttributes().get("ignition")), "attributes");
    PointPage next = read(session, device.getId(), page.getPagination().getNextCursor());
    check(next.getData().get(0).getLat().doubleValue() == 52.53, "the next page");
    check(next.getData().get(0).getBattery() == null, "battery");

    NewPolygon polygon =
        new NewPolygon()
            .type(NewPolygon.TypeEnum.POLYGON)
            .coordinates(List.of(vertex("13.37", "52.51"), vertex("13.38", "52.51"), vertex("13.38", "52.52")));
    NewGeofence fence = new NewGeofence().name("Depot").shape(new NewShape(polygon));
    Geofence made = new GeofencesApi(session).postGeofence(fence, null).getData();
    Polygon shape = made.getShape().getPolygon();
    check(shape.getCoordinates().get(0).get(0).doubleValue() == 13.37, "coordinates");

    try {
      devices.getDeviceById(made.getId());
      throw new AssertionError("a device was found that is none");
    } catch (ApiException error) {
      check(error.getCode() == 404, "404");
    }
  }

  static PointPage read(ApiClient session, String deviceId, String cursor) throws ApiException {
    return new LocationHistoryApi(session)
        .getLocationHistories(
            null, deviceId, null, null, null, null, null, 1, cursor, null, null, null, null);
  }

  static List<BigDecimal> vertex(String lng, String lat) {
    return List.of(new BigDecimal(lng), new BigDecimal(lat));
  }
}
