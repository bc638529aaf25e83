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
  const by = (arch: string, ...regions: string[]) => ({ arch, regions, mostInRegion: 3 });
  const pick = (...types: ServerType[]) => cheapestFirst(types, NOW, by("amd64", "fsn1")).map(({ name }) => name);

  it("S94: puts the cheapest with two cores first, single cores last, and finds nothing where there is nothing", () => {
    const types = [
      type("tiny", 1, offer({ priceEurPerHour: 0.001 })),
      type("big", 8, offer({ priceEurPerHour: 0.05 })),
      type("small", 2, offer({ priceEurPerHour: 0.01 })),
    ];
    expect(pick(...types)).toEqual(["small", "big", "tiny"]);
    expect(cheapestFirst(types, NOW, by("arm64", "fsn1"))).toEqual([]);
    expect(cheapestFirst(types, NOW, by("amd64", "hel1"))).toEqual([]);
  });

  it("S94: goes by price over all regions, enough cores before it and their order behind it, and takes so many of each", () => {
    const both = (price: number, elsewhere: number) => [
      offer({ priceEurPerHour: price }),
      offer({ region: "hel1", priceEurPerHour: elsewhere }),
    ];
    const types = [
      type("tiny", 1, ...both(0.001, 0.001)),
      type("small", 2, ...both(0.02, 0.01)),
      type("middle", 4, ...both(0.03, 0.02)),
      type("large", 8, ...both(0.04, 0.03)),
    ];
    const pairs = (...regions: string[]) =>
      cheapestFirst(types, NOW, by("amd64", ...regions)).map(({ name, region }) => `${name} ${region}`);
    expect(pairs("fsn1", "hel1")).toEqual([
      "small hel1",
      "small fsn1",
      "middle hel1",
      "middle fsn1",
      "large hel1",
      "large fsn1",
    ]);
    expect(pairs("hel1", "fsn1").slice(0, 3)).toEqual(["small hel1", "middle hel1", "small fsn1"]);
  });

  it("S85, X12: never picks what has no known price", () => {
    expect(pick(type("unknown", 2, offer({ priceEurPerHour: null })), type("known", 2, offer()))).toEqual(["known"]);
  });
});
