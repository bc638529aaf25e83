import { describe, expect, it } from "vitest";
import { UNKNOWN_PRICES } from "../../src/machine/money.ts";
import { cheapestFirst, orderable, type RegionOffer, type ServerType } from "../../src/machine/server-type.ts";

const NOW = Date.UTC(2026, 10, 30);
const offer = (change: Partial<RegionOffer> = {}): RegionOffer => ({
  region: "fsn1",
  available: true,
  unavailableAfter: null,
  deprecated: false,
  ...UNKNOWN_PRICES,
  priceEurPerHour: 0.01,
  ...change,
});
const type = (name: string, cores: number, ...regions: RegionOffer[]): ServerType => ({
  name,
  arch: "amd64",
  cores,
  memoryGb: 4,
  regions,
});
const names = (types: ServerType[]) => orderable(types, NOW, { region: "fsn1", arch: null }).map(({ name }) => name);

describe("orderable", () => {
  it("S89, S91, X13: leaves out what is deprecated there, though it may still be ordered, and nothing else", () => {
    const types = [
      type("kept", 2, offer(), offer({ region: "hel1", deprecated: true })),
      type("deprecated", 2, offer({ deprecated: true })),
      type("gone", 2, offer({ unavailableAfter: NOW })),
      type("going", 2, offer({ unavailableAfter: NOW + 1 })),
      type("out of stock", 2, offer({ available: false })),
    ];
    expect(names(types)).toEqual(["kept", "going"]);
  });

  it("S87, S88, X13: goes by the offer and not by the price", () => {
    expect(names([type("nowhere", 2), type("unpriced", 2, offer({ priceEurPerHour: null }))])).toEqual(["unpriced"]);
  });
});

describe("cheapestFirst", () => {
  const pick = (...types: ServerType[]) => cheapestFirst(types, NOW, "fsn1", "amd64").map(({ name }) => name);

  it("S94: puts the cheapest with two cores first, single cores last, and finds nothing where there is nothing", () => {
    const types = [
      type("tiny", 1, offer({ priceEurPerHour: 0.001 })),
      type("big", 8, offer({ priceEurPerHour: 0.05 })),
      type("small", 2, offer({ priceEurPerHour: 0.01 })),
    ];
    expect(pick(...types)).toEqual(["small", "big", "tiny"]);
    expect(cheapestFirst(types, NOW, "fsn1", "arm64")).toEqual([]);
    expect(cheapestFirst(types, NOW, "hel1", "amd64")).toEqual([]);
  });

  it("S85, X12: never picks what has no known price", () => {
    expect(pick(type("unknown", 2, offer({ priceEurPerHour: null })), type("known", 2, offer()))).toEqual(["known"]);
  });
});
