// Data only. A price row is [location, net per hour, net per month]; the order of the rows is the order of `prices`,
// and the cheapest is rarely the first, so that a client that reads the first entry is found out. The amounts have
// differing lengths, as at Hetzner. A location that is priced but not in `offered` cannot be ordered.
import type { Architecture, Deprecation } from "./resources.ts";

export interface ServerTypeRow {
  id: number;
  name: string;
  cores: number;
  memory_gb: number;
  disk_gb: number;
  category: string;
  cpu: "shared" | "dedicated";
  architecture: Architecture;
  offered: string[];
  recommended?: string[];
  deprecations?: Record<string, Deprecation>;
  prices: [string, string, string][];
}

const EU = ["fsn1", "nbg1", "hel1"];
const OVERSEAS = ["ash", "hil", "sin"];

function cx(
  id: number,
  name: string,
  cores: number,
  memory_gb: number,
  disk_gb: number,
  prices: ServerTypeRow["prices"],
) {
  const shape = { category: "Cost-Optimized", cpu: "shared", architecture: "x86" } as const;
  return { id, name, cores, memory_gb, disk_gb, ...shape, offered: EU, recommended: ["hel1"], prices };
}

function cax(
  id: number,
  name: string,
  cores: number,
  memory_gb: number,
  disk_gb: number,
  prices: ServerTypeRow["prices"],
) {
  const shape = { category: "Cost-Optimized", cpu: "shared", architecture: "arm" } as const;
  return { id, name, cores, memory_gb, disk_gb, ...shape, offered: EU, recommended: ["nbg1"], prices };
}

function cpx(
  id: number,
  name: string,
  cores: number,
  memory_gb: number,
  disk_gb: number,
  prices: ServerTypeRow["prices"],
) {
  return {
    id,
    name,
    cores,
    memory_gb,
    disk_gb,
    category: "Regular Performance",
    cpu: "shared" as const,
    architecture: "x86" as const,
    prices,
  };
}

function ccx(
  id: number,
  name: string,
  cores: number,
  memory_gb: number,
  disk_gb: number,
  prices: ServerTypeRow["prices"],
) {
  const shape = { category: "General Purpose", cpu: "dedicated", architecture: "x86" } as const;
  return {
    id,
    name,
    cores,
    memory_gb,
    disk_gb,
    ...shape,
    offered: [...EU, ...OVERSEAS],
    recommended: ["fsn1", "ash"],
    prices,
  };
}

export const SERVER_TYPE_ROWS: ServerTypeRow[] = [
  {
    ...cpx(22, "cpx11", 2, 2, 40, [
      ["fsn1", "0.0072", "4.4900"],
      ["nbg1", "0.0072", "4.4900"],
      ["hil", "0.0088", "5.4900"],
      ["ash", "0.0080", "4.9900"],
      ["sin", "0.0120000000", "7.4900000000"],
    ]),
    offered: OVERSEAS,
  },
  {
    ...cpx(23, "cpx21", 3, 4, 80, [
      ["sin", "0.0224", "13.9900"],
      ["ash", "0.0152", "9.4900"],
      ["hil", "0.016", "9.99"],
      ["hel1", "0.0136", "8.4900"],
    ]),
    offered: OVERSEAS,
    deprecations: { sin: { announced: "2026-10-16T06:00:00+00:00", unavailable_after: "2027-01-16T06:00:00+00:00" } },
  },
  {
    ...cpx(24, "cpx31", 4, 8, 160, [
      ["ash", "0.0288", "17.9900"],
      ["hil", "0.0280", "17.4900"],
      ["sin", "0.0384000000", "23.9900000000"],
    ]),
    offered: OVERSEAS,
    deprecations: { sin: { announced: "2026-07-01T06:00:00+00:00", unavailable_after: "2026-10-01T06:00:00+00:00" } },
  },
  cax(45, "cax11", 2, 4, 40, [
    ["fsn1", "0.0088", "5.4900"],
    ["nbg1", "0.0080", "4.9900"],
    ["hel1", "0.0084", "5.2400"],
  ]),
  cax(93, "cax21", 4, 8, 80, [
    ["nbg1", "0.0144", "8.9900"],
    ["hel1", "0.0136000000", "8.4900000000"],
    ["fsn1", "0.0152", "9.4900"],
  ]),
  cax(94, "cax31", 8, 16, 160, [
    ["hel1", "0.0272", "16.9900"],
    ["nbg1", "0.0264", "16.4900"],
    ["fsn1", "0.0256", "15.9900"],
  ]),
  cax(95, "cax41", 16, 32, 320, [
    ["fsn1", "0.0512", "31.9900"],
    ["nbg1", "0.052", "32.49"],
    ["hel1", "0.0528", "32.9900"],
  ]),
  ccx(96, "ccx13", 2, 8, 80, [
    ["ash", "0.0256", "15.9900"],
    ["fsn1", "0.0248", "15.4900"],
    ["hel1", "0.0240000000", "14.9900000000"],
    ["hil", "0.0264", "16.4900"],
    ["nbg1", "0.0252", "15.7400"],
    ["sin", "0.0352", "21.9900"],
  ]),
  ccx(97, "ccx23", 4, 16, 160, [
    ["fsn1", "0.0496", "30.9900"],
    ["nbg1", "0.0488", "30.4900"],
    ["hel1", "0.048", "29.99"],
    ["ash", "0.0512", "31.9900"],
    ["hil", "0.0520", "32.4900"],
    ["sin", "0.0704", "43.9900"],
  ]),
  {
    ...cpx(109, "cpx12", 1, 2, 40, [
      ["fsn1", "0.0144", "8.9900"],
      ["hel1", "0.0128", "7.9900"],
      ["nbg1", "0.0136", "8.4900"],
    ]),
    offered: EU,
  },
  {
    ...cpx(110, "cpx22", 2, 4, 80, [
      ["nbg1", "0.0313", "19.4900"],
      ["fsn1", "0.0313", "19.4900"],
      ["hel1", "0.0305000000", "18.9900000000"],
    ]),
    offered: EU,
    recommended: ["fsn1"],
  },
  {
    ...cpx(111, "cpx32", 4, 8, 160, [
      ["hel1", "0.0561", "34.9900"],
      ["fsn1", "0.0553", "34.4900"],
      ["nbg1", "0.0545", "33.9900"],
    ]),
    offered: EU,
  },
  {
    ...cpx(112, "cpx42", 8, 16, 320, [
      ["fsn1", "0.1113", "69.4900"],
      ["nbg1", "0.1105", "68.9900"],
      ["hel1", "0.1097", "68.4900"],
    ]),
    offered: EU,
  },
  cx(114, "cx23", 2, 4, 40, [
    ["fsn1", "0.0088", "5.4900"],
    ["nbg1", "0.0092", "5.7400"],
    ["hel1", "0.0084000000", "5.2400000000"],
  ]),
  cx(115, "cx33", 4, 8, 80, [
    ["nbg1", "0.0136", "8.4900"],
    ["fsn1", "0.0144", "8.9900"],
    ["hel1", "0.0128", "7.9900"],
  ]),
  cx(116, "cx43", 8, 16, 160, [
    ["hel1", "0.024", "14.99"],
    ["nbg1", "0.0232", "14.4900"],
    ["fsn1", "0.0248", "15.4900"],
  ]),
  cx(117, "cx53", 16, 32, 320, [
    ["fsn1", "0.0448", "27.9900"],
    ["hel1", "0.0440", "27.4900"],
    ["nbg1", "0.0456", "28.4900"],
  ]),
];
