/**
 * Hetzner Cloud, by plain REST. This file is the five operations; `client.ts` is one HTTP call, `errors.ts` what a
 * refusal means, `schema.ts` what we read, `server.ts` a server of it, `machine.ts` what it means in our words.
 */
import { LABEL, uidIn } from "../../machine/labels.ts";
import type { Machine } from "../../machine/machine.ts";
import { checkSpec, type MachineSpec } from "../../machine/spec.ts";
import { DriverError, invalidInput, isNotFound, type Driver } from "../driver.ts";
import { askPricing, checkId, DEFAULT_CURRENCY, type HetznerOptions } from "./account.ts";
import { createClient } from "./client.ts";
import { aboutAnother } from "./errors.ts";
import { findServer, listServers } from "./list.ts";
import { pricesAt, toMachine } from "./machine.ts";
import { serverAnswer } from "./schema.ts";
import type { Server } from "./server.ts";

/** `POST /servers` ends by then, so that the outcome can still be recorded within the 30 s that a Worker is left. */
const CREATE_TIMEOUT_MS = 20_000;
/** What is asked before it must not eat up that time: this part of it at most. */
const SIDE_CALL_PART = 1 / 4;
/** Nor may the look after it keep a call for long that is to write down what came of it. */
const LOOK_TIMEOUT_MS = 5_000;

/** A {@link Driver} for one Hetzner Cloud project. */
export function createHetznerDriver(options: HetznerOptions): Driver {
  const { account = {}, currency = DEFAULT_CURRENCY } = options;
  const payer = { account, currency };
  const call = createClient(options, account);
  const read = (server: Server): Machine => toMachine(server, options.now(), payer);

  /** Prices in an answer carry no currency. Without it they stay unknown, which costs a limit its precision, not a machine. */
  async function learnCurrency(timeoutMs: number): Promise<void> {
    if (account.currency !== undefined) return;
    try {
      await askPricing(call, account, timeoutMs);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
    }
  }

  /** After a refusal for the name, or no clear answer at all: whose machine holds the name now? (P20, P24) */
  async function resolve(spec: MachineSpec, failure: DriverError): Promise<Machine> {
    let existing: Machine | null;
    try {
      existing = await findServer(call, read, spec.name, LOOK_TIMEOUT_MS);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      // Nothing was learnt: a taken name may still turn out to be taken by ours.
      const code = failure.code === "name_taken" ? "unavailable" : failure.code;
      throw new DriverError(code, failure.message, { status: failure.status, ambiguous: true, retryable: true });
    }
    if (existing === null) {
      if (failure.ambiguous) throw failure;
      throw new DriverError("conflict", "the name is taken, but its machine cannot be seen yet", { retryable: true });
    }
    if (!existing.hasLabels)
      throw new DriverError("unavailable", "the name is taken, and its machine's labels cannot be read", {
        ambiguous: true,
        retryable: true,
      });
    if (!isOfSpec(existing, spec))
      throw new DriverError("name_taken", "another machine holds this name at the provider", {
        status: failure.status,
        existing,
      });
    if (existing.status === "deleting")
      throw new DriverError("conflict", "the machine of this name is still being deleted", { retryable: true });
    return existing;
  }

  return {
    async create(spec, { withinMs = CREATE_TIMEOUT_MS } = {}) {
      const checked = checkSpec(spec);
      if (!checked.ok) throw invalidInput(checked.problem);
      const body = createBody(spec);
      const mostMs = Math.min(withinMs, CREATE_TIMEOUT_MS);
      const end = options.now() + mostMs;
      await learnCurrency(mostMs * SIDE_CALL_PART);
      try {
        const request = {
          method: "POST",
          path: "/servers",
          body,
          timeoutMs: Math.max(1, Math.min(mostMs, end - options.now())),
          secret: spec.cloudInit,
          // What is not found here is a type, an image or a location.
          absence: "invalid_input",
          answer: serverAnswer,
        } as const;
        const made = read((await call(request)).server);
        if (isAbout(made, spec)) return made;
        throw aboutAnother("machine");
      } catch (error) {
        if (!(error instanceof DriverError) || (error.code !== "name_taken" && !error.ambiguous)) throw error;
        return resolve(spec, error);
      }
    },

    async destroy(providerId) {
      const path = `/servers/${checkId(providerId)}`;
      try {
        await call.order({ method: "DELETE", path, absence: "not_found" });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    },

    async get(providerId) {
      const path = `/servers/${checkId(providerId)}`;
      const machine = read((await call({ method: "GET", path, absence: "not_found", answer: serverAnswer })).server);
      // What is done next is done to the id in the answer.
      if (machine.providerId === providerId) return machine;
      throw new DriverError("unexpected", "the provider's answer is about another machine");
    },

    list: (selector, listOptions) => listServers(call, read, selector, listOptions),

    async priceEurPerHour(region, serverType) {
      const { server_types } = await askPricing(call, account);
      const rows = server_types.find((entry) => entry?.name === serverType)?.prices ?? [];
      return pricesAt(rows, region, payer).priceEurPerHour;
    },
  };
}

/** Whether an answer is about the machine that was asked for: by its uid, and by its name where that can be read. */
const isAbout = ({ name, labels }: Machine, spec: MachineSpec): boolean =>
  uidIn(spec.labels) === ""
    ? name === spec.name
    : uidIn(labels) === uidIn(spec.labels) && (name === "" || name === spec.name);

/** Whether a machine that was found, not made, is the spec's: only its labels can tell (P24). */
const isOfSpec = ({ labels }: Machine, spec: MachineSpec): boolean =>
  uidIn(spec.labels) !== "" &&
  uidIn(labels) === uidIn(spec.labels) &&
  [LABEL.managed, LABEL.installation].every((key) => labels[key] === spec.labels[key]);

/** The body of `POST /servers`. Every default is said out loud; nothing is sent as null (S15-S19, S27, S28, S32-S35). */
function createBody(spec: MachineSpec) {
  return {
    name: spec.name,
    server_type: spec.serverType,
    image: spec.image,
    location: spec.region,
    labels: spec.labels,
    public_net: { enable_ipv4: spec.enableIpv4, enable_ipv6: spec.enableIpv6 },
    ...(spec.cloudInit === "" ? {} : { user_data: spec.cloudInit }),
    ...whereAny("ssh_keys", spec.sshKeyIds, Number),
    ...whereAny("networks", spec.networkIds, Number),
    ...whereAny("firewalls", spec.firewallIds, (id) => ({ firewall: Number(id) })),
  };
}

/** A list of ids as the API wants it; nothing at all where it is empty. */
const whereAny = (field: string, ids: readonly string[], shape: (id: string) => unknown) =>
  ids.length === 0 ? {} : { [field]: ids.map((id) => shape(checkId(id, field))) };
