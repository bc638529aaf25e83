/**
 * Hetzner Cloud, by plain REST. This file is the five operations; `client.ts` is one HTTP call, `errors.ts` what a
 * refusal means, `schema.ts` what we read, `machine.ts` what it means in our words.
 */
import { creationTime } from "../../machine/age.ts";
import { LABEL } from "../../machine/labels.ts";
import type { Machine } from "../../machine/machine.ts";
import { checkSpec, type MachineSpec } from "../../machine/spec.ts";
import { DriverError, invalidInput, isNotFound, type Driver } from "../driver.ts";
import { createClient, type ClientOptions } from "./client.ts";
import { priceAt, toMachine } from "./machine.ts";
import { anyAnswer, parseServer, pricingAnswer, serverAnswer, serverPage } from "./schema.ts";
import { toLabelSelector } from "./selector.ts";

export interface HetznerOptions extends ClientOptions {
  /** What is known of the account behind the token; kept by whoever outlives one driver, so that it is asked once. */
  readonly account?: Account;
}

/** `currency` is what `GET /pricing` said, undefined until then. */
export interface Account {
  currency?: string;
}

/** `POST /servers` ends by then, so that the outcome can still be recorded within the 30 s that a Worker is left. */
const CREATE_TIMEOUT_MS = 20_000;
/** What is asked besides must not eat up that time. */
const SIDE_CALL_TIMEOUT_MS = 5_000;
const PER_PAGE = 50;
const MAX_PAGES = 1000;

/** A {@link Driver} for one Hetzner Cloud project. */
export function createHetznerDriver(options: HetznerOptions): Driver {
  const call = createClient(options);
  const account = options.account ?? {};
  const read = (server: NonNullable<ReturnType<typeof parseServer>>): Machine =>
    toMachine(server, options.now(), account.currency === "EUR");

  async function pricing(timeoutMs?: number) {
    const request = { method: "GET", path: "/pricing", answer: pricingAnswer } as const;
    const answer = await call(timeoutMs === undefined ? request : { ...request, timeoutMs });
    account.currency = answer.pricing.currency;
    return answer.pricing;
  }

  /** Prices in an answer carry no currency. Without it they stay unknown, which costs a limit its precision, not a machine. */
  async function learnCurrency(): Promise<void> {
    if (account.currency !== undefined) return;
    try {
      await pricing(SIDE_CALL_TIMEOUT_MS);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
    }
  }

  async function findByName(name: string): Promise<Machine | null> {
    const { servers } = await call({
      method: "GET",
      path: `/servers?name=${encodeURIComponent(name)}`,
      answer: serverPage,
    });
    const found = servers.map(parseServer).find((server) => server?.name === name);
    return found ? read(found) : null;
  }

  /** After a refusal for the name, or no answer at all: whose machine holds the name now? (P20, P24) */
  async function resolve(spec: MachineSpec, failure: DriverError): Promise<Machine> {
    let existing: Machine | null;
    try {
      existing = await findByName(spec.name);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      // Nothing was learnt: the first failure stands, and a taken name may still turn out to be ours.
      throw failure.with({ ambiguous: true, retryable: true });
    }
    if (existing === null) {
      if (failure.ambiguous) throw failure;
      throw new DriverError("conflict", "the name is taken, but its machine cannot be seen yet", { retryable: true });
    }
    const uid = spec.labels[LABEL.uid];
    if (uid === undefined || existing.labels[LABEL.uid] !== uid)
      throw new DriverError("name_taken", "another machine holds this name at the provider", {
        status: failure.status,
        existing,
      });
    if (existing.status === "deleting")
      throw new DriverError("conflict", "the machine of this name is still being deleted", { retryable: true });
    return existing;
  }

  return {
    async create(spec) {
      const checked = checkSpec(spec);
      if (!checked.ok) throw invalidInput(checked.problem);
      const body = createBody(spec);
      await learnCurrency();
      try {
        const request = {
          method: "POST",
          path: "/servers",
          body,
          timeoutMs: CREATE_TIMEOUT_MS,
          secret: spec.cloudInit,
          // What is not found here is a type, an image or a location.
          absence: "invalid_input",
          answer: serverAnswer,
        } as const;
        return read((await call(request)).server);
      } catch (error) {
        if (!(error instanceof DriverError) || (error.code !== "name_taken" && !error.ambiguous)) throw error;
        return resolve(spec, error);
      }
    },

    async destroy(providerId) {
      const path = `/servers/${checkId(providerId)}`;
      try {
        await call({ method: "DELETE", path, absence: "not_found", answer: anyAnswer });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    },

    async get(providerId) {
      const path = `/servers/${checkId(providerId)}`;
      return read((await call({ method: "GET", path, absence: "not_found", answer: serverAnswer })).server);
    },

    async list(selector, { olderThan } = {}) {
      const labelSelector = toLabelSelector(selector);
      if (Object.values(selector).some((wanted) => wanted.length === 0 && typeof wanted !== "string")) return [];
      const machines: Machine[] = [];
      let unreadable = 0;
      let inOrder = true;
      try {
        for (let page = 1, last = -Infinity; ;) {
          const query = [
            ...(labelSelector === "" ? [] : [`label_selector=${encodeURIComponent(labelSelector)}`]),
            `sort=${olderThan === undefined ? "id:asc" : "created:asc"}`,
            `page=${page}`,
            `per_page=${PER_PAGE}`,
          ].join("&");
          const { servers, meta } = await call({ method: "GET", path: `/servers?${query}`, answer: serverPage });
          let youngest: number | null = null;
          for (const item of servers) {
            const server = parseServer(item);
            if (server === null) {
              unreadable += 1;
              continue;
            }
            const machine = read(server);
            machines.push(machine);
            youngest = creationTime(machine);
            if (youngest !== null && youngest < last) inOrder = false;
            last = youngest ?? last;
          }
          const next = meta.pagination.next_page;
          if (next === null) break;
          if (next <= page || next > MAX_PAGES)
            throw new DriverError(
              "unexpected",
              `the provider's list does not end: page ${page} is followed by ${next}`,
            );
          if (olderThan !== undefined && inOrder && youngest !== null && youngest > olderThan) break;
          page = next;
        }
        if (unreadable > 0)
          throw new DriverError("unexpected", `${unreadable} entries of the provider's list cannot be read`);
      } catch (error) {
        throw error instanceof DriverError ? error.with({ partial: machines }) : error;
      }
      return machines;
    },

    async priceEurPerHour(region, serverType) {
      const { currency, server_types } = await pricing();
      if (currency !== "EUR") return null;
      return priceAt(server_types.find((entry) => entry?.name === serverType)?.prices ?? [], region);
    },
  };
}

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
    ...(spec.sshKeyIds.length === 0 ? {} : { ssh_keys: spec.sshKeyIds.map((id) => Number(checkId(id, "ssh_keys"))) }),
    ...(spec.networkIds.length === 0 ? {} : { networks: spec.networkIds.map((id) => Number(checkId(id, "networks"))) }),
  };
}

/** An id that is safe in a path: without this check `""` would ask to delete the collection (S51, P8). */
function checkId(id: string, field = "provider_id"): string {
  if (!/^[1-9]\d{0,15}$/.test(id) || !Number.isSafeInteger(Number(id)))
    throw invalidInput({ field, rule: "must be a Hetzner id: a whole number from 1 to 2^53-1" });
  return id;
}
