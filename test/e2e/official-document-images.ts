// The part of the story about images: server 102 is an x86 one, server 104 an ARM one.
import { del, get, post, put, type Step } from "./official-document-step.ts";

const PATH = "/images/400000001";
const SNAPSHOT = { name: "s", server_type: "cx23", image: 400_000_001 };

const snap = (what: string, status: number, body: object = {}, server = 102): Step =>
  post(what, `/servers/${server}/actions/create_image`, status, body);
const protect = (what: string, status: number, body: object): Step =>
  post(what, `${PATH}/actions/change_protection`, status, body);
const create = (what: string, status: number, body: object): Step =>
  post(what, "/servers", status, { ...SNAPSHOT, ...body });

export const IMAGE_STORY: readonly Step[] = [
  get("images", "/images?include_deprecated=true"),
  get("an image", "/images/317629862"),
  get("an unknown image", "/images/1", 404),
  snap("a snapshot", 201, { description: "golden", labels: { a: "b" } }),
  { ...get("an image that is being created", PATH), pause: false },
  { ...create("a server from it, too soon", 422, {}), pause: false },
  { ...snap("a snapshot of a busy server", 423), pause: false },
  { ...del("deleting what is being created", PATH, 423), pause: false },
  get("a snapshot", PATH),
  get("snapshots", "/images?type=snapshot&status=available&sort=created:desc&label_selector=a&architecture=x86"),
  snap("a backup without backups", 422, { type: "backup" }),
  snap("a bad snapshot", 422, { type: "system", labels: [] }),
  put("a renamed snapshot", PATH, 200, { description: "silver", labels: {}, type: "snapshot" }),
  put("a snapshot as a backup", PATH, 422, { type: "backup" }),
  put("an image of Hetzner's", "/images/317629862", 422, { description: "mine" }),
  create("a server from a snapshot", 201, { start_after_create: false }),
  create("a server of the other architecture", 422, { name: "t", server_type: "cax11" }),
  {
    ...snap("a snapshot that fails", 201, {}, 104),
    fate: (sim) => sim.fault({ method: "POST", action_error: { code: "stuck", message: "no" } }),
  },
  get("an unavailable image", "/images/400000002"),
  {
    ...put("a backup that becomes a snapshot", "/images/400000003", 200, { type: "snapshot" }),
    fate: (sim) =>
      sim.addImage({ type: "backup", bound_to: 102, created: "2026-11-01T00:00:00+00:00", labels: {}, disk_size: 80 }),
  },
  create("a server whose disk is too small", 422, { name: "t", image: 400_000_003 }),
  protect("protection", 201, { delete: true }),
  del("a protected image", PATH, 423),
  protect("bad protection", 422, { delete: "no" }),
  protect("no protection", 201, { delete: false }),
  get("the actions of an image", `${PATH}/actions?sort=id:desc`),
  get("an action of another image", `${PATH}/actions/1`, 404),
  get("the actions of all images", "/images/actions?status=success"),
  get("an action of some image", "/images/actions/1", 404),
  del("deleting an image", PATH, 204),
  del("deleting it again", PATH, 404),
  get("servers, one of which has outlived its image", "/servers"),
];
