import type { Attachment } from "../machine/attachment.ts";
import { isLiveResource } from "../machine/resource.ts";
import { invalid, valid, type Checked } from "../machine/validation.ts";
import type { Context } from "./context.ts";
import { resourcesOf } from "./resources.ts";

/**
 * Whether what is named by the provider's id is nobody's here, as far as is known: what is somebody's goes when its owner says so.
 * Nothing is read where nothing is named so.
 */
export async function checkExisting(
  { store, capabilities }: Pick<Context, "store" | "capabilities">,
  attachments: readonly Attachment[],
): Promise<Checked<void>> {
  for (const one of attachments) {
    if (one.by !== "id") continue;
    if (resourcesOf(capabilities, one.kind) === undefined)
      return invalid(one.field, "must be left out: the provider has none");
    const rows = await store.resources.ofResources(one.kind, [{ id: one.id, uid: "" }]);
    if (rows.some(isLiveResource))
      return invalid(one.field, "must be nobody's here: this one has an owner, and a name");
  }
  return valid(undefined);
}
