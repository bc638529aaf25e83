import type { JsonObject } from "./json.ts";

/** One refused field of a request, in the shape of `error.details.fields`. */
export interface FieldProblem {
  name: string;
  messages?: string[];
}

/** A refusal by the API: becomes `{"error": {code, message, details}}`. Source: Hetzner API, Errors. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: JsonObject | null;

  constructor(status: number, code: string, message: string, details: JsonObject | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** A refusal by the control plane: the caller of `/_sim/...` made a mistake. */
export class ControlError extends Error {
  readonly status: number;

  constructor(message: string, status = 422) {
    super(message);
    this.status = status;
  }
}

/** A cut connection, as workerd's fetch reports it: same message, same own properties. */
export class ConnectionDropped extends Error {
  readonly remote = true;
  readonly retryable = true;

  constructor(options?: ErrorOptions) {
    super("Network connection lost.", options);
  }
}

/** 404: `what` is the resource's name in Hetzner's words, such as "server". */
export function notFound(what: string): ApiError {
  return new ApiError(404, "not_found", `${what} not found`);
}

/** 422 `invalid_input` naming the fields at fault. Source: Hetzner API, Errors. */
export function invalidFields(fields: FieldProblem[]): ApiError {
  const names = fields.map((field) => `'${field.name}'`).join(", ");
  const message = `invalid input in ${fields.length === 1 ? "field" : "fields"} ${names}`;
  return new ApiError(422, "invalid_input", message, { fields });
}

/** 422 `invalid_input` about one field. */
export function invalidField(name: string, message: string): ApiError {
  return invalidFields([{ name, messages: [message] }]);
}

/** 409: something is being changed already. Source: Hetzner API, Firewalls and Networks. */
export function isChanging(what: string): ApiError {
  return new ApiError(409, "conflict", `${what} is being changed`);
}

/** 423: another action holds it. Source: Hetzner API, Errors. */
export function locked(what: string): ApiError {
  return new ApiError(423, "locked", `${what} is locked`);
}
