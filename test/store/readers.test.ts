import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type * as z from "zod";
import { PHASES } from "../../src/machine/machine.ts";
import { catalogueRow } from "../../src/store/catalogues.ts";
import {
  intOf,
  intOrNull,
  oneOf,
  reasonOf,
  textOf,
  textOrNull,
  type Reader,
  type Row,
} from "../../src/store/columns.ts";
import { ODD_ROW, StoreError } from "../../src/store/db.ts";
import { deliveryRow } from "../../src/store/delivery-row.ts";
import { unbookedRow } from "../../src/store/ledger.ts";
import { machineRow } from "../../src/store/machine-row.ts";
import { dueResource, resourceRow } from "../../src/store/resource-row.ts";
import { parseFirst, parseRows } from "../../src/store/rows.ts";
import { tokenRow } from "../../src/store/tokens.ts";
import * as rows from "./row-schemas.ts";

/** What a reader makes of a row, or that it takes it for odd; any other error is one of this test. */
function readBy(reader: Reader<unknown>, row: unknown): unknown {
  try {
    return { read: parseRows(reader, [row])[0] };
  } catch (error) {
    if (error instanceof StoreError && error.message === ODD_ROW) return "odd";
    throw error;
  }
}

function parsedBy(schema: z.ZodType, row: unknown): unknown {
  const parsed = schema.safeParse(row);
  return parsed.success ? { read: parsed.data } : "odd";
}

describe("a row that is read by hand", () => {
  it.each([
    ["machines", rows.MACHINE, machineRow],
    ["resources", rows.RESOURCE, resourceRow],
    ["due resources", rows.DUE_RESOURCE, dueResource],
    ["deliveries", rows.DELIVERY, deliveryRow],
    ["catalogues", rows.CATALOGUE, catalogueRow],
    ["tokens", rows.TOKEN, tokenRow],
    ["machines, as far as the ledger goes", rows.UNBOOKED, unbookedRow],
  ] as const)("is what its schema says, whatever its columns hold: %s", (_, columns, reader) => {
    const schema = rows.schemaOf(columns);
    const outcomes = new Set<string>();
    fc.assert(
      fc.property(rows.rowsLike(columns), (row) => {
        const read = readBy(reader, row);
        outcomes.add(read === "odd" ? "odd" : "read");
        expect(read).toEqual(parsedBy(schema, row));
      }),
      { numRuns: 1000 },
    );
    expect([...outcomes].sort()).toEqual(["odd", "read"]);
  });

  it.each([
    ["text", rows.text, textOf],
    ["text or null", rows.textOrNull, textOrNull],
    ["whole number", rows.int, intOf],
    ["whole number or null", rows.intOrNull, intOrNull],
    ["word", rows.phase, (row, column) => oneOf(row, column, PHASES)],
  ] satisfies [string, { schema: z.ZodType; fitting: fc.Arbitrary<unknown> }, (row: Row, column: string) => unknown][])(
    "has columns that are what their schemas say: %s",
    (_, { schema, fitting }, column) => {
      fc.assert(
        fc.property(fc.oneof(fitting, rows.oddValue), (value) => {
          expect(readBy((row) => column(row, "it"), { it: value })).toEqual(parsedBy(schema, value));
        }),
        { numRuns: 1000 },
      );
    },
  );

  it("may have ended for a reason that another version wrote", () => {
    expect(reasonOf({ reason: "struck_by_lightning" })).toBe("unknown");
    expect(reasonOf({})).toBe("unknown");
    expect(reasonOf({ reason: null })).toBeNull();
  });

  it("is a row: nothing else is read", () => {
    for (const none of [null, undefined, 1, "row", [], [{}]]) expect(readBy(() => 1, none)).toBe("odd");
    expect(parseFirst(() => 1, [])).toBeNull();
  });

  it("says which column is odd to whoever looks for the cause, and nothing of what stands in it", () => {
    const failure = (() => {
      try {
        return parseRows(machineRow, [{ uid: 4711 }]);
      } catch (error) {
        return error;
      }
    })();
    expect(failure).toMatchObject({ message: ODD_ROW, cause: { message: "uid" } });
  });
});
