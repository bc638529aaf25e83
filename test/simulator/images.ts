import type { Architecture, Deprecation, Image } from "./resources.ts";

interface Row {
  id: number;
  flavor: string;
  version: string;
  description: string;
  deprecation?: Deprecation;
}

const ROWS: Row[] = [
  {
    id: 45557056,
    flavor: "debian",
    version: "11",
    description: "Debian 11",
    deprecation: { announced: "2026-08-31T00:00:00+00:00", unavailable_after: "2026-11-30T00:00:00+00:00" },
  },
  { id: 67794396, flavor: "ubuntu", version: "22.04", description: "Ubuntu 22.04" },
  { id: 114690387, flavor: "debian", version: "12", description: "Debian 12" },
  { id: 137661220, flavor: "rocky", version: "9", description: "Rocky Linux 9" },
  { id: 138234814, flavor: "alma", version: "9", description: "AlmaLinux 9" },
  { id: 161547269, flavor: "ubuntu", version: "24.04", description: "Ubuntu 24.04" },
  { id: 232895412, flavor: "fedora", version: "42", description: "Fedora 42" },
  { id: 310557660, flavor: "rocky", version: "10", description: "Rocky Linux 10" },
  { id: 317629862, flavor: "debian", version: "13", description: "Debian 13" },
];

/** All system images: one per name and architecture, each with its own id. Source: Hetzner API, Images. */
export const IMAGES: readonly Image[] = ROWS.flatMap((row) => [image(row, "x86"), image(row, "arm")]);

function image(row: Row, architecture: Architecture): Image {
  return {
    id: architecture === "x86" ? row.id : row.id + 4,
    type: "system",
    status: "available",
    name: `${row.flavor}-${row.version}`,
    description: row.description,
    image_size: null,
    disk_size: 5,
    created: "2025-08-12T09:01:13+00:00",
    created_from: null,
    bound_to: null,
    os_flavor: row.flavor,
    os_version: row.version,
    rapid_deploy: true,
    protection: { delete: false },
    deprecation: row.deprecation ?? null,
    deleted: null,
    labels: {},
    architecture,
  };
}

/** The image with this id (as text), or with this name and architecture: names are per architecture. */
export function findImage(nameOrId: string, architecture: Architecture): Image | undefined {
  return (
    IMAGES.find((candidate) => candidate.name === nameOrId && candidate.architecture === architecture) ??
    IMAGES.find((candidate) => String(candidate.id) === nameOrId)
  );
}
