import type { Location } from "./resources.ts";

const ROWS: [number, string, string, string, string, number, number, string][] = [
  [1, "fsn1", "Falkenstein DC Park 1", "DE", "Falkenstein", 50.47612, 12.370071, "eu-central"],
  [2, "nbg1", "Nuremberg DC Park 1", "DE", "Nuremberg", 49.452102, 11.076665, "eu-central"],
  [3, "hel1", "Helsinki DC Park 1", "FI", "Helsinki", 60.169855, 24.938379, "eu-central"],
  [4, "ash", "Ashburn, VA", "US", "Ashburn, VA", 39.045821, -77.487073, "us-east"],
  [5, "hil", "Hillsboro, OR", "US", "Hillsboro, OR", 45.54222, -122.951924, "us-west"],
  [6, "sin", "Singapore", "SG", "Singapore", 1.283333, 103.833333, "ap-southeast"],
];

/** All locations. Source: Hetzner API, Locations. */
export const LOCATIONS: readonly Location[] = ROWS.map(
  ([id, name, description, country, city, latitude, longitude, network_zone]) => {
    return { id, name, description, country, city, latitude, longitude, network_zone };
  },
);

/** The location with this name or id (as text). */
export function findLocation(nameOrId: string): Location | undefined {
  return LOCATIONS.find((location) => location.name === nameOrId || String(location.id) === nameOrId);
}
