import type { MachineRow } from "../machine/machine.ts";
import type { Doubt } from "../machine/reason.ts";
import type { Context } from "./context.ts";

/**
 * What forbids to conclude from it that the provider does not show a row's machine. Under another credential than the one it was made
 * under the provider may be looking into another project; an inventory that lacks too much is no proof of anything.
 */
export async function doubtOf(
  { credential }: Pick<Context, "credential">,
  row: Pick<MachineRow, "credential">,
  isInventoryDoubted = false,
): Promise<Doubt | null> {
  if (row.credential !== (await credential())) return "other_credential";
  return isInventoryDoubted ? "inventory_untrusted" : null;
}

/** Rows of a machine that is seen belong to the credential in use, and with them all that were made under the same one. */
export async function adoptCredential(
  { store, credential }: Pick<Context, "store" | "credential">,
  seen: readonly Pick<MachineRow, "credential">[],
): Promise<void> {
  const current = await credential();
  const others = new Set(seen.map((row) => row.credential).filter((one) => one !== current));
  await store.inventory.adoptCredential([...others], current);
}
