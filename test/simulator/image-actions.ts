import { actionPlan, isBusy, renderAction, startAction, started } from "./action-record.ts";
import { created, type Call, type Reply } from "./call.ts";
import { ApiError, invalidField, locked } from "./errors.ts";
import { Fields } from "./fields.ts";
import { renderImage, type ImageRecord } from "./image-record.ts";
import { toTimestamp, type Server } from "./resources.ts";
import type { ServerRecord } from "./server-record.ts";

// What a freshly installed system takes up.
const IMAGE_SIZE_GB = 1.5;

/** `POST /servers/{id}/actions/create_image`: a backup is bound to its server, a snapshot stands alone. */
export function createImage(call: Call, record: ServerRecord): Reply {
  const { world, now_ms } = call;
  const { view: server } = record;
  const fields = new Fields(call.body);
  const type = fields.oneOf("type", ["snapshot", "backup"]) ?? "snapshot";
  const description = fields.string("description") ?? `${server.name}-${Math.floor(now_ms / 1000)}`;
  const labels = fields.labels("labels");
  fields.check();
  if (type === "backup" && server.backup_window === null)
    throw invalidField("type", "Backups are not enabled for this server.");
  if (isBusy(record, now_ms)) throw locked("server");
  const image: ImageRecord = {
    type: "image",
    view: {
      ...blankImage(server),
      id: world.next_id.image++,
      type,
      description,
      created: toTimestamp(now_ms),
      bound_to: type === "backup" ? server.id : null,
      labels,
    },
    actions: [],
  };
  world.images.set(image.view.id, image);
  const action = startAction(world, [record, image], actionPlan(call, "create_image"));
  return created({ image: renderImage(image, now_ms), action: renderAction(action, now_ms) });
}

function blankImage(server: Server) {
  return {
    status: "available" as const,
    name: null,
    image_size: IMAGE_SIZE_GB,
    disk_size: server.primary_disk_size,
    created_from: { id: server.id, name: server.name },
    os_flavor: server.image?.os_flavor ?? "unknown",
    os_version: server.image?.os_version ?? null,
    rapid_deploy: false,
    protection: { delete: false },
    deprecation: null,
    deleted: null,
    architecture: server.server_type.architecture,
  };
}

/** `POST /images/{id}/actions/change_protection`: of snapshots alone. Source: Hetzner API, Image Actions. */
export function changeProtection(call: Call, record: ImageRecord): Reply {
  const { view } = record;
  const fields = new Fields(call.body);
  const protection = { delete: fields.boolean("delete", view.protection?.delete ?? false) };
  fields.check();
  if (view.type !== "snapshot") throw new ApiError(422, "invalid_input", "only snapshots can be protected");
  if (isBusy(record, call.now_ms)) throw locked("image");
  const action = startAction(call.world, [record], actionPlan(call, "change_protection"));
  if (action.failure === null) record.view = { ...view, protection };
  return started(call, action);
}
