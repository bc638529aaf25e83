import type { MachineRow } from "../machine/machine.ts";
import type { Context } from "./context.ts";

/**
 * Whether what the provider does not show of a row is gone. Under another credential than the one it was made under the provider
 * may be looking into another project.
 */
export const mayConclude = async (
  { credential }: Pick<Context, "credential">,
  row: Pick<MachineRow, "credential">,
): Promise<boolean> => row.credential === (await credential());

/** Rows of a machine that is seen belong to the credential in use, and with it all that were made under the same one. */
export async function adoptCredential(
  { store, credential }: Pick<Context, "store" | "credential">,
  seen: readonly Pick<MachineRow, "credential">[],
): Promise<void> {
  const current = await credential();
  const others = new Set(seen.map((row) => row.credential).filter((one) => one !== current));
  await store.inventory.adoptCredential([...others], current);
}
