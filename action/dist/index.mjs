// action/src/main.ts
import { spawn } from "node:child_process";
import { isIP, isIPv4 } from "node:net";
import { setTimeout as sleep2 } from "node:timers/promises";

// node_modules/zod/v4/core/util.js
function jsonStringifyReplacer(_, value) {
  if (typeof value === "bigint")
    return value.toString();
  return value;
}
var Cached = class {
  constructor(getter) {
    this._getter = getter;
    this._value = void 0;
  }
  get value() {
    const getter = this._getter;
    if (getter !== void 0) {
      this._value = getter();
      this._getter = void 0;
    }
    return this._value;
  }
};
function cached(getter) {
  return new Cached(getter);
}
function cleanRegex(source) {
  const start = source.startsWith("^") ? 1 : 0;
  const end = source.endsWith("$") ? source.length - 1 : source.length;
  return source.slice(start, end);
}
function assignProp(target, prop, value) {
  Object.defineProperty(target, prop, {
    value,
    writable: true,
    enumerable: true,
    configurable: true
  });
}
var captureStackTrace = "captureStackTrace" in Error ? Error.captureStackTrace : (..._args) => {
};
function isObject(data) {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}
function clone(inst, def, params) {
  const cl = new inst._zod.constr(def ?? inst._zod.def);
  if (!def || params?.parent)
    cl._zod.parent = inst;
  return cl;
}
function normalizeParams(_params) {
  const params = _params;
  if (!params)
    return {};
  if (typeof params === "string")
    return { error: () => params };
  if (params?.message !== void 0) {
    if (params?.error !== void 0)
      throw new Error("Cannot specify both `message` and `error` params");
    params.error = params.message;
  }
  delete params.message;
  if (typeof params.error === "string")
    return { ...params, error: () => params.error };
  return params;
}
function optionalKeys(shape) {
  return Object.keys(shape).filter((k) => {
    return shape[k]._zod.optin !== void 0 && shape[k]._zod.optout === "optional";
  });
}
function aborted(x, startIndex = 0) {
  if (x.aborted === true)
    return true;
  for (let i = startIndex; i < x.issues.length; i++) {
    if (x.issues[i]?.continue !== true) {
      return true;
    }
  }
  return false;
}
function explicitlyAborted(x, startIndex = 0) {
  if (x.aborted === true)
    return true;
  for (let i = startIndex; i < x.issues.length; i++) {
    if (x.issues[i]?.continue === false) {
      return true;
    }
  }
  return false;
}
function prefixIssues(path, issues) {
  return issues.map((iss) => {
    var _a2;
    (_a2 = iss).path ?? (_a2.path = []);
    iss.path.unshift(path);
    return iss;
  });
}
function unwrapMessage(message) {
  return typeof message === "string" ? message : message?.message;
}
function attachSchema(issues, start, inst) {
  var _a2;
  for (let i = start; i < issues.length; i++) {
    (_a2 = issues[i]).schema ?? (_a2.schema = inst);
  }
}
function finalizeIssue(iss, ctx, config2) {
  var _a2;
  const traits = iss.inst?._zod?.traits;
  if (traits?.has("$ZodType")) {
    if (traits.has("$ZodCheck"))
      (_a2 = iss).schema ?? (_a2.schema = iss.inst);
    else
      iss.schema = iss.inst;
  }
  const schemaError = iss.schema !== iss.inst ? iss.schema?._zod.def?.error : void 0;
  const message = iss.message ? iss.message : unwrapMessage(iss.inst?._zod.def?.error?.(iss)) ?? unwrapMessage(schemaError?.(iss)) ?? unwrapMessage(ctx?.error?.(iss)) ?? unwrapMessage(config2.customError?.(iss)) ?? unwrapMessage(config2.localeError?.(iss)) ?? "Invalid input";
  const full = {};
  for (const k of Object.keys(iss)) {
    if (k === "inst" || k === "schema" || k === "continue" || k === "input" || k === "__proto__")
      continue;
    full[k] = iss[k];
  }
  full.path ?? (full.path = []);
  full.message = message;
  if (ctx?.reportInput) {
    full.input = iss.input;
  }
  return full;
}
function members(proto, table) {
  for (const key in table) {
    const desc = Object.getOwnPropertyDescriptor(table, key);
    if (desc.get)
      Object.defineProperty(proto, key, { ...desc, enumerable: false });
    else
      defineBound(proto, key, desc.value);
  }
}
function own(inst, key, value, enumerable = true) {
  Object.defineProperty(inst, key, { configurable: true, writable: true, enumerable, value });
  return value;
}
function hide(inst, key, value) {
  return own(inst, key, value, false);
}
function defineBound(proto, key, fn) {
  Object.defineProperty(proto, key, {
    configurable: true,
    get() {
      return this == null ? fn : own(this, key, fn.bind(this));
    },
    set(value) {
      own(this, key, value);
    }
  });
}
function claim(inst, sentinel) {
  const proto = Object.getPrototypeOf(inst);
  return sentinel in proto ? void 0 : proto;
}
var installing;
var broke = false;
var breaker = {
  configurable: true,
  get() {
    broke = true;
    return void 0;
  }
};
function defineLazyInternal(inst, key, compute) {
  const proto = Object.getPrototypeOf(inst._zod);
  if (key in proto && installing !== inst._zod) {
    installing = void 0;
    return;
  }
  installing = inst._zod;
  Object.defineProperty(proto, key, {
    configurable: true,
    get() {
      Object.defineProperty(this, key, breaker);
      const outer = broke;
      broke = false;
      try {
        const value = compute(this);
        if (broke)
          delete this[key];
        else
          Object.defineProperty(this, key, { configurable: true, writable: true, value });
        broke = broke || outer;
        return value;
      } catch (err) {
        delete this[key];
        broke = broke || outer;
        throw err;
      }
    },
    set(value) {
      Object.defineProperty(this, key, { configurable: true, writable: true, value });
    }
  });
}
function installLazyProp(inst, key, make, enumerable) {
  const proto = claim(inst, key);
  if (!proto)
    return;
  Object.defineProperty(proto, key, {
    configurable: true,
    get() {
      const desc = { configurable: true, writable: true, enumerable, value: void 0 };
      Object.defineProperty(this, key, desc);
      desc.value = make(this);
      Object.defineProperty(this, key, desc);
      return desc.value;
    },
    set(value) {
      Object.defineProperty(this, key, { configurable: true, writable: true, enumerable, value });
    }
  });
}

// node_modules/zod/v4/core/core.js
var _a;
var _zodDesc = { value: void 0, enumerable: false };
var _E = "captureStackTrace" in Error ? Error : null;
function newError(Definition) {
  const E = _E;
  if (E) {
    const saved = E.stackTraceLimit;
    if (typeof saved === "number") {
      try {
        E.stackTraceLimit = 0;
      } catch {
        _E = null;
        return new Definition();
      }
      try {
        return new Definition();
      } finally {
        E.stackTraceLimit = saved;
      }
    }
  }
  return new Definition();
}
// @__NO_SIDE_EFFECTS__
function $constructor(name, initializer2, proto, params) {
  const zodProto = {};
  function Internals(def) {
    this.def = def;
    this.constr = _;
    this.traits = /* @__PURE__ */ new Set();
  }
  Internals.prototype = zodProto;
  const protoMembers = proto;
  const initialized = protoMembers && /* @__PURE__ */ new WeakSet();
  function init(inst, def) {
    if (!inst._zod) {
      _zodDesc.value = new Internals(def);
      try {
        Object.defineProperty(inst, "_zod", _zodDesc);
      } finally {
        _zodDesc.value = void 0;
      }
    } else if (inst._zod.traits.has(name)) {
      return;
    }
    inst._zod.traits.add(name);
    initializer2(inst, def);
    if (initialized) {
      const own2 = Object.getPrototypeOf(inst);
      const ctorProto = inst._zod.constr.prototype;
      let up = own2;
      while (up && up !== ctorProto)
        up = Object.getPrototypeOf(up);
      const target = up ?? own2;
      if (!initialized.has(target)) {
        initialized.add(target);
        members(target, protoMembers);
      }
    }
    const proto2 = _.prototype;
    for (const k in proto2) {
      if (!Object.prototype.hasOwnProperty.call(proto2, k))
        continue;
      if (!(k in inst)) {
        inst[k] = proto2[k].bind(inst);
      }
    }
  }
  const Parent = params?.Parent ?? Object;
  class Definition extends Parent {
  }
  Object.defineProperty(Definition, "name", { value: name });
  function _(def) {
    const inst = params?.Parent ? newError(Definition) : this;
    init(inst, def);
    const deferred = inst._zod.deferred;
    if (deferred) {
      for (const fn of deferred) {
        fn();
      }
      inst._zod.deferred = void 0;
    }
    const pp = globalThis.__zod_globalConfig?.postProcessor;
    if (pp)
      pp(inst);
    return inst;
  }
  Object.defineProperty(_, "init", { value: init });
  Object.defineProperty(_, Symbol.hasInstance, {
    value: (inst) => {
      if (params?.Parent && inst instanceof params.Parent)
        return true;
      return inst?._zod?.traits?.has(name);
    }
  });
  Object.defineProperty(_, "name", { value: name });
  return _;
}
var $ZodAsyncError = class extends Error {
  constructor() {
    super(`Encountered Promise during synchronous parse. Use .parseAsync() instead.`);
  }
};
(_a = globalThis).__zod_globalConfig ?? (_a.__zod_globalConfig = {});
var globalConfig = globalThis.__zod_globalConfig;
function config(newConfig) {
  if (newConfig)
    Object.assign(globalConfig, newConfig);
  return globalConfig;
}

// node_modules/zod/v4/core/errors.js
function _getMessage() {
  const internals = this._zod;
  internals.message ?? (internals.message = JSON.stringify(internals.def, jsonStringifyReplacer, 2));
  return internals.message;
}
function _setMessage(value) {
  this._zod.message = value;
}
var _messageDesc = {
  get: _getMessage,
  set: _setMessage,
  enumerable: true,
  configurable: true
};
var _issuesDesc = { value: void 0, enumerable: false };
var _installedToString = /* @__PURE__ */ new WeakSet([Object.prototype, Error.prototype]);
var initializer = (inst, def) => {
  inst.name = "$ZodError";
  _issuesDesc.value = def;
  Object.defineProperty(inst, "issues", _issuesDesc);
  _issuesDesc.value = void 0;
  Object.defineProperty(inst, "message", _messageDesc);
  const proto = Object.getPrototypeOf(inst);
  if (!_installedToString.has(proto)) {
    _installedToString.add(proto);
    Object.defineProperty(proto, "toString", {
      configurable: true,
      enumerable: false,
      get() {
        const value = () => this.message;
        Object.defineProperty(this, "toString", { value, configurable: true, writable: true });
        return value;
      },
      set(value) {
        Object.defineProperty(this, "toString", { value, configurable: true, writable: true });
      }
    });
  }
};
var $ZodError = $constructor("$ZodError", initializer);
var $ZodRealError = $constructor("$ZodError", initializer, void 0, {
  Parent: Error
});

// node_modules/zod/v4/core/parse.js
var _parse = (_Err) => {
  const fn = (schema, value, _ctx, _params) => {
    const ctx = _ctx ? { ..._ctx, async: false } : { async: false };
    const result = schema._zod.run({ value, issues: [] }, ctx);
    if (result instanceof Promise) {
      throw new $ZodAsyncError();
    }
    if (result.issues.length) {
      const e = new (_params?.Err ?? _Err)(result.issues.map((iss) => finalizeIssue(iss, ctx, config())));
      captureStackTrace(e, _params?.callee ?? fn);
      throw e;
    }
    return result.value;
  };
  return fn;
};
var parse = /* @__PURE__ */ _parse($ZodRealError);
var _parseAsync = (_Err) => {
  const fn = async (schema, value, _ctx, params) => {
    const ctx = _ctx ? { ..._ctx, async: true } : { async: true };
    let result = schema._zod.run({ value, issues: [] }, ctx);
    if (result instanceof Promise)
      result = await result;
    if (result.issues.length) {
      const e = new (params?.Err ?? _Err)(result.issues.map((iss) => finalizeIssue(iss, ctx, config())));
      captureStackTrace(e, params?.callee ?? fn);
      throw e;
    }
    return result.value;
  };
  return fn;
};
var parseAsync = /* @__PURE__ */ _parseAsync($ZodRealError);
var _safeParse = (_Err) => (schema, value, _ctx) => {
  const ctx = _ctx ? { ..._ctx, async: false } : { async: false };
  const result = schema._zod.run({ value, issues: [] }, ctx);
  if (result instanceof Promise) {
    throw new $ZodAsyncError();
  }
  return result.issues.length ? failure(_Err, result.issues, ctx) : { success: true, data: result.value };
};
var safeParse = /* @__PURE__ */ _safeParse($ZodRealError);
function failure(Err, issues, ctx) {
  let error;
  return {
    success: false,
    get error() {
      if (!error) {
        error = new Err(issues.map((iss) => finalizeIssue(iss, ctx, config())));
        issues = void 0;
        ctx = void 0;
      }
      return error;
    },
    set error(e) {
      error = e;
      issues = void 0;
      ctx = void 0;
    }
  };
}
var _safeParseAsync = (_Err) => async (schema, value, _ctx) => {
  const ctx = _ctx ? { ..._ctx, async: true } : { async: true };
  let result = schema._zod.run({ value, issues: [] }, ctx);
  if (result instanceof Promise)
    result = await result;
  return result.issues.length ? failure(_Err, result.issues, ctx) : { success: true, data: result.value };
};
var safeParseAsync = /* @__PURE__ */ _safeParseAsync($ZodRealError);

// node_modules/zod/v4/core/regexes.js
var anyString = /^[\s\S]{0,}$/;
var number = /^-?\d+(?:\.\d+)?$/;
var boolean = /^(?:true|false)$/i;

// node_modules/zod/v4/core/versions.js
var version = {
  major: 4,
  minor: 6,
  patch: 7
};

// node_modules/zod/v4/core/schemas.js
var $ZodType = /* @__PURE__ */ $constructor("$ZodType", (inst, def) => {
  var _a2;
  inst ?? (inst = {});
  inst._zod.def = def;
  inst._zod.bag = inst._zod.bag || {};
  inst._zod.version = version;
  const defChecks = inst._zod.def.checks;
  const checks = inst._zod.traits.has("$ZodCheck") ? [inst, ...defChecks ?? []] : defChecks?.length ? [...defChecks] : [];
  for (const ch of checks) {
    for (const fn of ch._zod.onattach) {
      fn(inst);
    }
  }
  if (checks.length === 0) {
    (_a2 = inst._zod).deferred ?? (_a2.deferred = []);
    inst._zod.deferred?.push(() => {
      inst._zod.run = inst._zod.parse;
    });
  } else {
    const runChecks = (payload, checks2, ctx) => {
      if (payload.memo)
        return payload;
      let isAborted = aborted(payload);
      let asyncResult;
      for (const ch of checks2) {
        if (ch._zod.def.when) {
          if (explicitlyAborted(payload))
            continue;
          const shouldRun = ch._zod.def.when(payload);
          if (!shouldRun)
            continue;
        } else if (isAborted) {
          continue;
        }
        const currLen = payload.issues.length;
        const _ = ch._zod.check(payload);
        if (_ instanceof Promise && ctx?.async === false) {
          throw new $ZodAsyncError();
        }
        if (asyncResult || _ instanceof Promise) {
          asyncResult = (asyncResult ?? Promise.resolve()).then(async () => {
            await _;
            const nextLen = payload.issues.length;
            if (nextLen === currLen)
              return;
            attachSchema(payload.issues, currLen, inst);
            if (!isAborted)
              isAborted = aborted(payload, currLen);
          });
        } else {
          const nextLen = payload.issues.length;
          if (nextLen === currLen)
            continue;
          attachSchema(payload.issues, currLen, inst);
          if (!isAborted)
            isAborted = aborted(payload, currLen);
        }
      }
      if (asyncResult) {
        return asyncResult.then(() => {
          return payload;
        });
      }
      return payload;
    };
    const handleCanaryResult = (canary, payload, ctx) => {
      if (aborted(canary)) {
        canary.aborted = true;
        return canary;
      }
      const checkResult = runChecks(payload, checks, ctx);
      if (checkResult instanceof Promise) {
        if (ctx.async === false)
          throw new $ZodAsyncError();
        return checkResult.then((checkResult2) => inst._zod.parse(checkResult2, ctx));
      }
      return inst._zod.parse(checkResult, ctx);
    };
    inst._zod.run = (payload, ctx) => {
      if (ctx.skipChecks) {
        return inst._zod.parse(payload, ctx);
      }
      if (ctx.direction === "backward") {
        const canary = inst._zod.parse({ value: payload.value, issues: [] }, { ...ctx, skipChecks: true });
        if (canary instanceof Promise) {
          return canary.then((canary2) => {
            return handleCanaryResult(canary2, payload, ctx);
          });
        }
        return handleCanaryResult(canary, payload, ctx);
      }
      const result = inst._zod.parse(payload, ctx);
      if (result instanceof Promise) {
        if (ctx.async === false)
          throw new $ZodAsyncError();
        return result.then((result2) => runChecks(result2, checks, ctx));
      }
      return runChecks(result, checks, ctx);
    };
  }
}, {
  // Wrappers extend this by installing a richer factory over it; reading it eagerly would defeat the laziness.
  get "~standard"() {
    return hide(this, "~standard", standardProps(this));
  },
  set "~standard"(value) {
    own(this, "~standard", value);
  }
});
var toStandardResult = (r, ctx) => r.issues.length ? { issues: r.issues.map((iss) => finalizeIssue(iss, ctx, config())) } : { value: r.value };
async function validateAsync(inst, value) {
  const ctx = { async: true };
  return toStandardResult(await inst._zod.run({ value, issues: [] }, ctx), ctx);
}
function standardProps(inst) {
  return {
    validate: (value) => {
      const ctx = { async: false };
      try {
        const r = inst._zod.run({ value, issues: [] }, ctx);
        if (!(r instanceof Promise))
          return toStandardResult(r, ctx);
      } catch (_) {
      }
      return validateAsync(inst, value);
    },
    vendor: "zod",
    version: 1
  };
}
var $ZodString = /* @__PURE__ */ $constructor("$ZodString", (inst, def) => {
  $ZodType.init(inst, def);
  inst._zod.pattern = def.pattern ?? anyString;
  inst._zod.parse = (payload, _) => {
    if (def.coerce)
      try {
        payload.value = String(payload.value);
      } catch (_2) {
      }
    if (typeof payload.value === "string")
      return payload;
    payload.issues.push({
      expected: "string",
      code: "invalid_type",
      input: payload.value,
      inst
    });
    return payload;
  };
});
var $ZodNumber = /* @__PURE__ */ $constructor("$ZodNumber", (inst, def) => {
  $ZodType.init(inst, def);
  inst._zod.pattern = number;
  inst._zod.parse = (payload, _ctx) => {
    if (def.coerce)
      try {
        payload.value = Number(payload.value);
      } catch (_) {
      }
    const input = payload.value;
    if (typeof input === "number" && !Number.isNaN(input) && Number.isFinite(input)) {
      return payload;
    }
    const received = typeof input === "number" ? Number.isNaN(input) ? "NaN" : !Number.isFinite(input) ? String(input) : void 0 : void 0;
    payload.issues.push({
      expected: "number",
      code: "invalid_type",
      input,
      inst,
      ...received ? { received } : {}
    });
    return payload;
  };
});
var $ZodBoolean = /* @__PURE__ */ $constructor("$ZodBoolean", (inst, def) => {
  $ZodType.init(inst, def);
  inst._zod.pattern = boolean;
  inst._zod.parse = (payload, _ctx) => {
    if (def.coerce)
      try {
        payload.value = Boolean(payload.value);
      } catch (_) {
      }
    const input = payload.value;
    if (typeof input === "boolean")
      return payload;
    payload.issues.push({
      expected: "boolean",
      code: "invalid_type",
      input,
      inst
    });
    return payload;
  };
});
function handlePropertyResult(result, final, key, input, optin, optout) {
  const isPresent = key in input;
  const isOptionalOut = optout === "optional";
  if (!isPresent && isOptionalOut && optin === "optional") {
    return;
  }
  if (result.issues.length) {
    if (optin !== void 0 && isOptionalOut && !isPresent) {
      return;
    }
    final.issues.push(...prefixIssues(key, result.issues));
  }
  if (!isPresent && optin === void 0) {
    if (!result.issues.length) {
      final.issues.push({
        code: "invalid_type",
        expected: "nonoptional",
        input: void 0,
        path: [key]
      });
    }
    return;
  }
  if (result.value === void 0) {
    if (isPresent || optin === "defaulted" && !isOptionalOut) {
      final.value[key] = void 0;
    }
  } else {
    final.value[key] = result.value;
  }
}
var NO_SYMBOL_KEYS = [];
function normalizeDef(def) {
  const keys = Object.keys(def.shape);
  const ownSymbols = Object.getOwnPropertySymbols(def.shape);
  const symbolKeys = ownSymbols.length ? ownSymbols : NO_SYMBOL_KEYS;
  const allKeys = symbolKeys.length ? [...keys, ...symbolKeys] : keys;
  for (const k of allKeys) {
    if (!def.shape?.[k]?._zod?.traits?.has("$ZodType")) {
      throw new Error(`Invalid element at key "${String(k)}": expected a Zod schema`);
    }
  }
  const okeys = optionalKeys(def.shape);
  return {
    ...def,
    allKeys,
    symbolKeys,
    // string-only: handleCatchall matches it against `for...in`, which never yields a symbol
    keySet: new Set(keys),
    numKeys: keys.length,
    optionalKeys: new Set(okeys)
  };
}
function handleCatchall(proms, input, payload, ctx, def, inst, abortEarly) {
  const unrecognized = [];
  const keySet = def.keySet;
  const _catchall = def.catchall._zod;
  const t = _catchall.def.type;
  const optin = _catchall.optin;
  const optout = _catchall.optout;
  let seen = 0;
  for (const key in input) {
    if (abortEarly && payload.issues.length !== seen) {
      if (aborted(payload, seen))
        break;
      seen = payload.issues.length;
    }
    if (keySet.has(key))
      continue;
    if (key === "__proto__") {
      if (t === "never")
        unrecognized.push(key);
      continue;
    }
    if (t === "never") {
      unrecognized.push(key);
      continue;
    }
    const r = _catchall.run({ value: input[key], issues: [] }, ctx);
    if (r instanceof Promise) {
      proms.push(r.then((r2) => handlePropertyResult(r2, payload, key, input, optin, optout)));
    } else {
      handlePropertyResult(r, payload, key, input, optin, optout);
    }
  }
  if (unrecognized.length) {
    payload.issues.push({
      code: "unrecognized_keys",
      keys: unrecognized,
      input,
      inst,
      // Describes the shape of the input, not the validity of the parsed value, so it never aborts. The parse still fails; the schema's own checks just get to run first, and an enclosing intersection can reconcile the key against a sibling operand.
      continue: true
    });
  }
  if (!proms.length)
    return payload;
  return Promise.all(proms).then(() => {
    return payload;
  });
}
var $ZodObject = /* @__PURE__ */ $constructor("$ZodObject", (inst, def) => {
  $ZodType.init(inst, def);
  const desc = Object.getOwnPropertyDescriptor(def, "shape");
  const sh = desc?.get ? desc.get.raw : def.shape ?? {};
  if (sh) {
    const get = () => {
      const newSh = { ...sh };
      Object.defineProperty(def, "shape", { value: newSh });
      get.raw = newSh;
      return newSh;
    };
    get.raw = sh;
    Object.defineProperty(def, "shape", { get });
  }
  const _normalized = cached(() => normalizeDef(def));
  defineLazyInternal(inst, "propValues", (zod) => {
    const shape = zod.def.shape;
    const propValues = {};
    for (const key in shape) {
      const field2 = shape[key]._zod;
      if (field2.values) {
        if (!Object.prototype.hasOwnProperty.call(propValues, key)) {
          assignProp(propValues, key, /* @__PURE__ */ new Set());
        }
        for (const v of field2.values)
          propValues[key].add(v);
        if (field2.optin !== void 0)
          propValues[key].add(void 0);
      }
    }
    return propValues;
  });
  const isObject2 = isObject;
  const catchall = def.catchall;
  let value;
  const memo = globalConfig.memoizer;
  memo?.attach(inst);
  inst._zod.parse = (payload, ctx) => {
    value ?? (value = _normalized.value);
    const input = payload.value;
    if (!isObject2(input)) {
      payload.issues.push({
        expected: "object",
        code: "invalid_type",
        input,
        inst
      });
      return payload;
    }
    payload.value = memo ? memo.alloc(inst, payload, {}, ctx) : {};
    const proms = [];
    const shape = value.shape;
    const abortEarly = ctx?.abortEarly;
    let seen = payload.issues.length;
    for (const key of value.allKeys) {
      if (abortEarly && payload.issues.length !== seen) {
        if (aborted(payload, seen))
          break;
        seen = payload.issues.length;
      }
      if (key === "__proto__")
        continue;
      const el = shape[key];
      const optin = el._zod.optin;
      const optout = el._zod.optout;
      const r = el._zod.run({ value: input[key], issues: [] }, ctx);
      if (r instanceof Promise) {
        proms.push(r.then((r2) => handlePropertyResult(r2, payload, key, input, optin, optout)));
      } else {
        handlePropertyResult(r, payload, key, input, optin, optout);
      }
    }
    if (!catchall) {
      return proms.length ? Promise.all(proms).then(() => payload) : payload;
    }
    return handleCatchall(proms, input, payload, ctx, _normalized.value, inst, abortEarly === true);
  };
});
function handleOptionalResult(payload, result) {
  payload.value = result.issues.length ? void 0 : result.value;
  return payload;
}
var $ZodOptional = /* @__PURE__ */ $constructor("$ZodOptional", (inst, def) => {
  $ZodType.init(inst, def);
  defineLazyInternal(inst, "optin", (zod) => zod.def.innerType._zod.optin === "defaulted" ? "defaulted" : "optional");
  inst._zod.optout = "optional";
  defineLazyInternal(inst, "values", (zod) => {
    const values = zod.def.innerType._zod.values;
    return values ? /* @__PURE__ */ new Set([...values, void 0]) : void 0;
  });
  defineLazyInternal(inst, "pattern", (zod) => {
    const pattern = zod.def.innerType._zod.pattern;
    return pattern ? new RegExp(`^(${cleanRegex(pattern.source)})?$`) : void 0;
  });
  inst._zod.parse = (payload, ctx) => {
    if (payload.value === void 0) {
      if (def.innerType._zod.optin !== "defaulted")
        return payload;
      const result = def.innerType._zod.run({ value: payload.value, issues: [] }, ctx);
      if (result instanceof Promise)
        return result.then((result2) => handleOptionalResult(payload, result2));
      return handleOptionalResult(payload, result);
    }
    return def.innerType._zod.run(payload, ctx);
  };
});
var $ZodNullable = /* @__PURE__ */ $constructor("$ZodNullable", (inst, def) => {
  $ZodType.init(inst, def);
  defineLazyInternal(inst, "optin", (zod) => zod.def.innerType._zod.optin);
  defineLazyInternal(inst, "optout", (zod) => zod.def.innerType._zod.optout);
  defineLazyInternal(inst, "pattern", (zod) => {
    const pattern = zod.def.innerType._zod.pattern;
    return pattern ? new RegExp(`^(${cleanRegex(pattern.source)}|null)$`) : void 0;
  });
  defineLazyInternal(inst, "values", (zod) => {
    return zod.def.innerType._zod.values ? /* @__PURE__ */ new Set([...zod.def.innerType._zod.values, null]) : void 0;
  });
  inst._zod.parse = (payload, ctx) => {
    if (payload.value === null)
      return payload;
    return def.innerType._zod.run(payload, ctx);
  };
});

// node_modules/zod/v4/core/api.js
function snapshotChecks(def) {
  if (def.checks)
    def.checks = [...def.checks];
  return def;
}
// @__NO_SIDE_EFFECTS__
function _string(Class, params) {
  return new Class(snapshotChecks({ type: "string", ...normalizeParams(params) }));
}
// @__NO_SIDE_EFFECTS__
function _number(Class, params) {
  return new Class(snapshotChecks({ type: "number", checks: [], ...normalizeParams(params) }));
}
// @__NO_SIDE_EFFECTS__
function _boolean(Class, params) {
  return new Class({
    type: "boolean",
    ...normalizeParams(params)
  });
}

// node_modules/zod/v4/mini/schemas.js
var ZodMiniType = /* @__PURE__ */ $constructor("ZodMiniType", (inst, def) => {
  if (!inst._zod)
    throw new Error("Uninitialized schema in ZodMiniType.");
  $ZodType.init(inst, def);
  inst.def = def;
  inst.type = def.type;
}, {
  // `with` is an alias for `check`: the same function object, not a wrapper.
  get with() {
    return this.check;
  },
  set with(value) {
    own(this, "with", value);
  },
  parse(data, params) {
    return parse(this, data, params, { callee: this.parse });
  },
  parseAsync(data, params) {
    return parseAsync(this, data, params, { callee: this.parseAsync });
  },
  safeParse(data, params) {
    return safeParse(this, data, params);
  },
  safeParseAsync(data, params) {
    return safeParseAsync(this, data, params);
  },
  check(...checks) {
    const def = this.def;
    return this.clone({
      ...def,
      checks: [
        ...def.checks ?? [],
        ...checks.map((ch) => typeof ch === "function" ? { _zod: { check: ch, def: { check: "custom" }, onattach: [] } } : ch)
      ]
    }, { parent: true });
  },
  clone(_def, params) {
    return clone(this, _def, params);
  },
  brand() {
    return this;
  },
  register(reg, meta2) {
    reg.add(this, meta2);
    return this;
  },
  apply(fn, ...args) {
    return args.length === 0 ? fn(this) : fn(this, ...args);
  }
});
var ZodMiniString = /* @__PURE__ */ $constructor("ZodMiniString", (inst, def) => {
  $ZodString.init(inst, def);
  ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
function string2(params) {
  return _string(ZodMiniString, params);
}
var ZodMiniNumber = /* @__PURE__ */ $constructor("ZodMiniNumber", (inst, def) => {
  $ZodNumber.init(inst, def);
  ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
function number2(params) {
  return _number(ZodMiniNumber, params);
}
var ZodMiniBoolean = /* @__PURE__ */ $constructor("ZodMiniBoolean", (inst, def) => {
  $ZodBoolean.init(inst, def);
  ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
function boolean2(params) {
  return _boolean(ZodMiniBoolean, params);
}
var ZodMiniObject = /* @__PURE__ */ $constructor("ZodMiniObject", (inst, def) => {
  $ZodObject.init(inst, def);
  ZodMiniType.init(inst, def);
  installLazyProp(inst, "shape", (self) => self._zod.def.shape, false);
});
// @__NO_SIDE_EFFECTS__
function object(shape, params) {
  const def = {
    type: "object",
    shape: shape ?? {},
    ...normalizeParams(params)
  };
  return new ZodMiniObject(def);
}
var ZodMiniOptional = /* @__PURE__ */ $constructor("ZodMiniOptional", (inst, def) => {
  $ZodOptional.init(inst, def);
  ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
function optional(innerType) {
  return new ZodMiniOptional({
    type: "optional",
    innerType
  });
}
var ZodMiniNullable = /* @__PURE__ */ $constructor("ZodMiniNullable", (inst, def) => {
  $ZodNullable.init(inst, def);
  ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
function nullable(innerType) {
  return new ZodMiniNullable({
    type: "nullable",
    innerType
  });
}

// action/src/inputs.ts
import { randomInt } from "node:crypto";

// action/src/runner.ts
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
var Failure = class extends Error {
  name = "Failure";
};
function openRunner(env, print) {
  const say = (command, text) => print(`::${command}::${escaped(text)}`);
  const append = (file, text) => {
    const path = env[file] ?? "";
    if (path !== "") appendFileSync(path, text);
  };
  return {
    env,
    /** What the workflow says of an input, without blanks around it; `""` where it says nothing. */
    input: (name) => (env[`INPUT_${name.toUpperCase()}`] ?? "").trim(),
    /** What an earlier part of this very step has kept. */
    state: (name) => env[`STATE_${name}`] ?? "",
    /** Keeps something for the part of the step that runs when the job ends. */
    keep: (name, value) => append("GITHUB_STATE", entry(name, value)),
    output: (name, value) => append("GITHUB_OUTPUT", entry(name, value)),
    summarise: (markdown) => append("GITHUB_STEP_SUMMARY", `${markdown}
`),
    /** From here on the log shows this as `***`. */
    mask: (secret) => say("add-mask", secret),
    tell: print,
    warn: (text) => say("warning", text),
    fail: (text) => say("error", text)
  };
}
function entry(name, value) {
  const end = `end_${randomUUID()}`;
  return `${name}<<${end}
${value}
${end}
`;
}
var escaped = (text) => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

// action/src/inputs.ts
var ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
function newName(job) {
  const readable = job.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").slice(0, 54).replaceAll(/^-|-$/g, "");
  const random = Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
  return `${readable || "job"}-${random}`;
}
function placeIn(runner2) {
  const given = runner2.input("url");
  if (!URL.canParse(given))
    throw new Failure("`url` must be the Worker's address, like https://mayfly.example.workers.dev");
  const { protocol, hostname, origin } = new URL(given);
  if (protocol !== "https:" && !["127.0.0.1", "localhost", "[::1]"].includes(hostname))
    throw new Failure("`url` must begin with https://");
  return { url: origin, audience: runner2.input("audience") || hostname };
}
var SECONDS = { s: 1, m: 60, h: 3600, d: 86400 };
function lengthIn(runner2, input) {
  const [, count = "", unit = ""] = /^(\d{1,6})([smhd])$/.exec(runner2.input(input)) ?? [];
  const seconds = Number(count) * (SECONDS[unit] ?? 0);
  if (seconds <= 0) throw new Failure(`\`${input}\` must be a whole number and a unit, like 90s, 30m or 2h`);
  return seconds * 1e3;
}
function flagIn(runner2, input) {
  const text = runner2.input(input);
  if (text !== "true" && text !== "false") throw new Failure(`\`${input}\` must be true or false`);
  return text === "true";
}
function portIn(runner2, input) {
  const text = runner2.input(input);
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65535) throw new Failure(`\`${input}\` must be from 1 to 65535`);
  return Number(text);
}
var list = (text) => text.split(",").map((part) => part.trim()).filter((part) => part !== "");
function orderIn(runner2) {
  const said = (name) => runner2.input(name) || void 0;
  const isBare = said("profile") === void 0;
  const types = list(runner2.input("server_type"));
  const regions = list(runner2.input("region"));
  const labels = list(runner2.input("labels")).map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new Failure("`labels` must be like key=value, separated by commas");
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  const order = {
    profile: said("profile"),
    server_type: types.length > 0 ? types : isBare && said("arch") === void 0 ? "cx23" : void 0,
    region: regions.length > 0 ? regions : isBare ? "fsn1" : void 0,
    arch: said("arch"),
    image: said("image"),
    cloud_init: said("cloud_init"),
    labels: labels.length > 0 ? Object.fromEntries(labels) : void 0,
    ttl: said("ttl")
  };
  return Object.fromEntries(Object.entries(order).filter(([, value]) => value !== void 0));
}

// action/src/key-pair.ts
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
var TYPE = "ssh-ed25519";
function field(bytes) {
  const content = Buffer.from(bytes);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
}
var number3 = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
function makeKeyPair() {
  const { privateKey } = generateKeyPairSync("ed25519");
  const { d = "", x = "" } = privateKey.export({ format: "jwk" });
  const [seed, point] = [Buffer.from(d, "base64url"), Buffer.from(x, "base64url")];
  const blob = Buffer.concat([field(TYPE), field(point)]);
  const check = randomBytes(4);
  const secret = Buffer.concat([
    check,
    check,
    field(TYPE),
    field(point),
    field(Buffer.concat([seed, point])),
    field("")
  ]);
  const padding = Buffer.from(Array.from({ length: (8 - secret.length % 8) % 8 }, (_, index) => index + 1));
  const whole = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    field("none"),
    field("none"),
    field(""),
    number3(1),
    field(blob),
    field(Buffer.concat([secret, padding]))
  ]);
  const lines = whole.toString("base64").match(/.{1,70}/g) ?? [];
  return {
    publicKey: `${TYPE} ${blob.toString("base64")}`,
    privateKey: ["-----BEGIN OPENSSH PRIVATE KEY-----", ...lines, "-----END OPENSSH PRIVATE KEY-----", ""].join("\n")
  };
}
function writeKeyPair(folder, name) {
  const { publicKey, privateKey } = makeKeyPair();
  const own2 = join(folder, `mayfly-${name}`);
  mkdirSync(own2, { recursive: true, mode: 448 });
  const path = join(own2, "id_ed25519");
  writeFileSync(path, privateKey, { mode: 384 });
  return { publicKey, path };
}

// action/src/token.ts
var answer = object({ value: string2() });
var NO_TOKEN = "This job may not ask GitHub for a token. Give it `permissions: id-token: write`. A pull request from a fork never has one.";
async function tokenFor(runner2, audience) {
  const given = runner2.input("token");
  if (given !== "") return given;
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url = "", ACTIONS_ID_TOKEN_REQUEST_TOKEN: request = "" } = runner2.env;
  if (url === "" || request === "") throw new Failure(NO_TOKEN);
  const response = await fetch(`${url}&audience=${encodeURIComponent(audience)}`, {
    headers: { Authorization: `Bearer ${request}` },
    signal: AbortSignal.timeout(3e4)
  });
  const text = await response.text();
  if (response.status >= 500) throw new Error(`GitHub signs no token just now: ${response.status}`);
  if (!response.ok) throw new Failure(`GitHub signs no token for this job: ${response.status} ${text.slice(0, 200)}`);
  const { value } = answer.parse(JSON.parse(text));
  runner2.mask(value);
  return value;
}

// action/src/mayfly.ts
var machine = object({
  id: string2(),
  name: string2(),
  status: string2(),
  server_type: string2(),
  region: string2(),
  public_ipv4: string2(),
  created_at: nullable(string2()),
  destroyed_at: nullable(string2()),
  expires_at: string2(),
  cost_eur: nullable(number2())
});
var oneMachine = object({ machine });
var problem = object({ code: string2(), detail: string2(), next: optional(string2()) });
var Refused = class extends Failure {
  status;
  code;
  constructor(status, text) {
    const told = problem.safeParse(jsonIn(text));
    const { code, detail, next } = told.data ?? { code: "unknown", detail: text.slice(0, 200), next: void 0 };
    super(`mayfly answered ${status} ${code}: ${detail} ${next ?? ""}`.trim());
    this.status = status;
    this.code = code;
  }
};
var LONGEST_WAIT_MS = 6e4;
async function call(runner2, { url, audience, tries, sleep: sleep4 }, method, path, body) {
  for (let left = tries - 1; ; left--) {
    const came = await once();
    if (came.isAnswer && came.status < 300) return came;
    const isLast = left <= 0 || (came.isAnswer ? !isLater(came.status) : came.error instanceof Failure);
    if (isLast) throw came.isAnswer ? new Refused(came.status, came.text) : unreached(url, came.error);
    const waitMs = came.isAnswer ? came.retryAfterSeconds * 1e3 : 0;
    await sleep4(Math.min(LONGEST_WAIT_MS, Math.max(waitMs, 1e3 * 2 ** (tries - 1 - left))));
  }
  async function once() {
    try {
      const token = await tokenFor(runner2, audience);
      const response = await fetch(url + path, {
        method,
        headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
        ...body === void 0 ? {} : { body: JSON.stringify(body) },
        redirect: "manual",
        signal: AbortSignal.timeout(6e4)
      });
      const text = await response.text();
      const retryAfterSeconds = Number(response.headers.get("Retry-After") ?? 0) || 0;
      return { isAnswer: true, status: response.status, body: jsonIn(text), text, retryAfterSeconds };
    } catch (error) {
      return { isAnswer: false, error };
    }
  }
}
var unreached = (url, error) => error instanceof Failure ? error : new Failure(`${url} cannot be reached: ${reasonOf(error)}`);
function reasonOf(error) {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
var isLater = (status) => status === 429 || status >= 500;
function jsonIn(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// action/src/renew.ts
import { setTimeout as sleep } from "node:timers/promises";
var RENEWING = "MAYFLY_RENEWING";
var renewing = object({
  url: string2(),
  audience: string2(),
  name: string2(),
  ttlMs: number2(),
  /** Of the process that runs the job's steps: once it is gone, nobody needs the machine any more. */
  runnerPid: number2()
});
var LOOK_MS = 5e3;
async function renew(runner2, told) {
  const { url, audience, name, ttlMs, runnerPid } = renewing.parse(JSON.parse(told));
  const calling = { url, audience, tries: 3, sleep: async (ms) => sleep(ms) };
  const ttl = `${Math.round(ttlMs / 1e3)}s`;
  for (let next = Date.now() + ttlMs / 3; isAlive(runnerPid); await sleep(LOOK_MS)) {
    if (Date.now() < next) continue;
    next = Date.now() + ttlMs / 3;
    try {
      await call(runner2, calling, "POST", `/v1/machines/${name}/renew`, { ttl });
    } catch (error) {
      if (error instanceof Refused && error.status < 500 && error.status !== 429) return;
    }
  }
}
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

// action/src/wait-for-ssh.ts
import { connect } from "node:net";
var speaksSsh = (host, port) => new Promise((resolve) => {
  const socket = connect({ host, port, timeout: 5e3 });
  const end = (isThere) => {
    socket.destroy();
    resolve(isThere);
  };
  socket.once("data", (bytes) => end(bytes.toString("latin1").startsWith("SSH-")));
  for (const event of ["error", "timeout", "close"]) socket.once(event, () => end(false));
});

// action/src/main.ts
var whoami = object({
  whoami: object({ address: nullable(string2()), policy: object({ only_profiles: boolean2() }) })
});
var TRIES = 5;
var RUNS_WITHIN_MS = 5 * 6e4;
var SSH_WITHIN_MS = 5 * 6e4;
async function main(runner2, script2) {
  const place = placeIn(runner2);
  const ttlMs = lengthIn(runner2, "ttl");
  const renews = flagIn(runner2, "renew");
  const waitFor = runner2.input("wait_for");
  if (waitFor !== "ssh" && waitFor !== "running") throw new Failure("`wait_for` must be ssh or running");
  const port = portIn(runner2, "ssh_port");
  const order = orderIn(runner2);
  const name = newName(runner2.env["GITHUB_JOB"] ?? "");
  runner2.keep("name", name);
  runner2.keep("url", place.url);
  runner2.keep("audience", place.audience);
  runner2.output("name", name);
  const calling = { ...place, tries: TRIES, sleep: async (ms) => sleep2(ms) };
  const caller = whoami.parse((await call(runner2, calling, "GET", "/v1/whoami")).body).whoami;
  const isBound = caller.policy.only_profiles;
  const range = isBound ? null : rangeFor(runner2, caller.address);
  const key = isBound ? null : writeKeyPair(runner2.env["RUNNER_TEMP"] ?? ".", name);
  const rule = { direction: "in", protocol: "tcp", port: String(port), source_ips: [range] };
  const more = key === null ? {} : { ssh_keys: [key.publicKey], firewalls: [{ rules: [rule] }] };
  const path = `/v1/machines/${name}`;
  const created = await call(runner2, calling, "PUT", `${path}?wait=30`, { ...order, ...more });
  runner2.keep("made", "true");
  if (renews) startRenewing(runner2, script2, { ...place, name, ttlMs });
  const machine2 = await untilItRuns(runner2, calling, path, oneMachine.parse(created.body).machine);
  runner2.tell(`${name} is a ${machine2.server_type} in ${machine2.region} at ${machine2.public_ipv4}`);
  runner2.output("id", machine2.id);
  runner2.output("ip", machine2.public_ipv4);
  runner2.output("ssh_key_path", key?.path ?? "");
  if (waitFor === "ssh") await untilItAnswers(machine2.public_ipv4, port);
}
function rangeFor(runner2, address) {
  const said = runner2.input("cidr");
  if (said !== "") return said;
  if (address !== null && isIPv4(address)) return `${address}/32`;
  const seen = address === null || isIP(address) === 0 ? "is unknown" : `is ${address}, and the machine is reached by IPv4`;
  throw new Failure(`This runner's address ${seen}. Say who may reach the machine: \`cidr: 203.0.113.0/24\`.`);
}
async function untilItRuns(runner2, calling, path, first) {
  const until = Date.now() + RUNS_WITHIN_MS;
  let machine2 = first;
  while (machine2.status === "creating" || machine2.status === "running" && machine2.public_ipv4 === "") {
    if (Date.now() > until) throw new Failure(`${machine2.name} does not run after ${RUNS_WITHIN_MS / 6e4} minutes.`);
    machine2 = oneMachine.parse((await call(runner2, calling, "GET", `${path}?wait=30`)).body).machine;
    if (machine2.status === "running" && machine2.public_ipv4 === "") await sleep2(3e3);
  }
  if (machine2.status !== "running") throw new Failure(`${machine2.name} is ${machine2.status}.`);
  return machine2;
}
async function untilItAnswers(ip, port) {
  const until = Date.now() + SSH_WITHIN_MS;
  while (!await speaksSsh(ip, port)) {
    if (Date.now() > until)
      throw new Failure(`${ip} runs, and does not answer SSH after ${SSH_WITHIN_MS / 6e4} minutes.`);
    await sleep2(2e3);
  }
}
function startRenewing(runner2, script2, renewing3) {
  const told = { ...renewing3, runnerPid: process.ppid };
  const child = spawn(process.execPath, [script2], {
    detached: true,
    stdio: "ignore",
    env: { ...runner2.env, [RENEWING]: JSON.stringify(told) }
  });
  child.on("error", (error) => runner2.warn(`The lease is not renewed: ${error.message}`));
  child.unref();
  if (child.pid !== void 0) runner2.keep("renewing", String(child.pid));
}

// action/src/post.ts
import { setTimeout as sleep3 } from "node:timers/promises";
var TRIES2 = 6;
var TOMBSTONE = "10m";
async function post(runner2) {
  const [name, url, audience] = [runner2.state("name"), runner2.state("url"), runner2.state("audience")];
  if (name === "") return;
  stopRenewing(runner2.state("renewing"));
  const calling = { url, audience, tries: TRIES2, sleep: async (ms) => sleep3(ms) };
  const query = runner2.state("made") === "true" ? "" : `?tombstone=${TOMBSTONE}`;
  try {
    const { status, body } = await call(runner2, calling, "DELETE", `/v1/machines/${name}${query}`);
    if (status === 204) return runner2.tell(`${name}: there is no machine.`);
    const { machine: machine2 } = oneMachine.parse(body);
    runner2.tell(`${name} is ${machine2.status}.`);
    runner2.summarise(summaryOf(machine2));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    runner2.warn(`${name} could not be ended now, and ends with its lease. ${why}`);
  }
}
function stopRenewing(pid) {
  if (!/^[1-9]\d*$/.test(pid)) return;
  try {
    process.kill(Number(pid));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
function summaryOf({
  name,
  server_type: type,
  region,
  created_at: from,
  destroyed_at: to,
  cost_eur: cost
}) {
  const livedMs = from === null ? 0 : (to === null ? Date.now() : Date.parse(to)) - Date.parse(from);
  const minutes = Math.max(0, Math.ceil(livedMs / 6e4));
  const hours = Math.max(1, Math.ceil(livedMs / 36e5));
  const price = cost === null ? "unknown" : `${cost.toFixed(4)} €`;
  return [
    "| mayfly | type | region | lived | started hours | cost |",
    "|---|---|---|---|---|---|",
    `| ${name} | ${type} | ${region} | ${minutes} min | ${hours} | ${price} |`,
    ""
  ].join("\n");
}

// action/src/index.ts
var runner = openRunner(process.env, (line) => void process.stdout.write(`${line}
`));
var renewing2 = process.env[RENEWING];
var script = process.argv[1] ?? "";
try {
  if (renewing2 !== void 0) await renew(runner, renewing2);
  else if (process.env["MAYFLY_PART"] === "post") await post(runner);
  else await main(runner, script);
} catch (error) {
  runner.fail(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
