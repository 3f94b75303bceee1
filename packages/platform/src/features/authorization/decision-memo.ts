// Caches decisions by caller, key revision and request until permissions change.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import type { PlatformDecision } from "./platform-decision.ts";
import type { PlatformRequest } from "./request/platform-request.ts";

/** The cache is cleared at this size: common decisions are back within a few requests. */
const CAPACITY = 50_000;
/** Characters of the requests that are remembered: clients choose them. */
const MAX_CHARACTERS = 16_000_000;

/** Decisions about requests that differ in one text alone: the name of the object, or the path of what is no resource. */
type Alike = { readonly of: PlatformRequest; readonly decisions: Map<string, PlatformDecision> };

/** Decisions about one identity with one key. */
type Known = {
  readonly key: AccessKeyState | undefined;
  readonly byShape: Map<string, Alike>;
  /** A client asks for one kind of object many times: comparing costs less than a long text that is made anew. */
  last: Alike | undefined;
};

export class DecisionMemo {
  #version: number | undefined;
  #size = 0;
  #characters = 0;
  readonly #byIdentity = new Map<string, Known>();
  /** Authenticators that keep what they know of a user spare us writing it out again. */
  #byUser = new WeakMap<UserInfo, Known>();

  /** The decision made at `version` of the rights, or `decide()`, which then is remembered. */
  recall(
    version: number,
    user: UserInfo,
    key: AccessKeyState | undefined,
    request: PlatformRequest,
    decide: () => PlatformDecision,
  ): PlatformDecision {
    if (version !== this.#version || this.#size >= CAPACITY || this.#characters >= MAX_CHARACTERS) {
      this.#byIdentity.clear();
      this.#byUser = new WeakMap();
      this.#size = 0;
      this.#characters = 0;
      this.#version = version;
    }
    const { decisions } = this.#alike(this.#of(user, key), request);
    const { isResourceRequest, name, path } = request.inner;
    const about = isResourceRequest ? name : path;
    const known = decisions.get(about);
    if (known !== undefined) return known;
    const decision = decide();
    decisions.set(about, decision);
    this.#size += 1;
    this.#characters += about.length;
    return decision;
  }

  #alike(known: Known, request: PlatformRequest): Alike {
    if (known.last !== undefined && areAlike(known.last.of, request)) return known.last;
    const shape = shapeOf(request);
    const found = known.byShape.get(shape) ?? { of: shapeOnly(request), decisions: new Map() };
    if (found.decisions.size === 0) {
      known.byShape.set(shape, found);
      this.#characters += shape.length;
    }
    known.last = found;
    return found;
  }

  #of(user: UserInfo, key: AccessKeyState | undefined): Known {
    const last = this.#byUser.get(user);
    // A record of a key is another object with every change of it.
    if (last !== undefined && last.key === key) return last;
    const identity = JSON.stringify([user.name, user.groups]) + keyPart(key);
    const known = this.#byIdentity.get(identity);
    const found =
      known !== undefined && known.key === key
        ? known
        : { key, byShape: known?.byShape ?? new Map<string, Alike>(), last: known?.last };
    this.#byIdentity.set(identity, found);
    this.#byUser.set(user, found);
    return found;
  }
}

/** The uid too: a name or a handle may come again, and a revision is of one record. */
const keyPart = (key: AccessKeyState | undefined): string => `${key?.uid}@${key?.revision}`;

/** Each part is prefixed with its length, so that two requests never have the same text. */
const joined = (...parts: readonly string[]): string => {
  let text = "";
  for (const part of parts) text += `${part.length}:${part}`;
  return text;
};

/** All of a request that decisions depend on, but for what `Alike` leaves open. */
function shapeOf(request: PlatformRequest): string {
  const { isResourceRequest, verb, apiGroup, resource, subresource, namespace } = request.inner;
  // Fewer members than a resource request has.
  const asked = isResourceRequest ? joined(verb, apiGroup, resource, subresource, namespace) : joined(verb);
  return asked + placeOf(request);
}

/** "" for the management API. */
function placeOf(request: PlatformRequest): string {
  switch (request.target) {
    case "Cluster":
      return joined(request.target, request.cluster);
    case "ProjectSpace":
      return joined(request.target, request.project, request.space);
    case "ProjectVirtualCluster":
      return joined(request.target, request.project, request.virtualCluster);
    case "Management":
      return "";
  }
}

/** Whether two requests have the same shape. */
function areAlike(one: PlatformRequest, other: PlatformRequest): boolean {
  const { inner: a } = one;
  const { inner: b } = other;
  return (
    a.isResourceRequest === b.isResourceRequest &&
    a.verb === b.verb &&
    one.target === other.target &&
    (!a.isResourceRequest ||
      (a.resource === b.resource &&
        a.namespace === b.namespace &&
        a.subresource === b.subresource &&
        a.apiGroup === b.apiGroup)) &&
    (one.target === "Management" || placeOf(one) === placeOf(other))
  );
}

/** A copy that keeps nothing else of the request in memory. */
const shapeOnly = (request: PlatformRequest): PlatformRequest => {
  const { isResourceRequest, verb, apiGroup, resource, subresource, namespace } = request.inner;
  const inner = { isResourceRequest, verb, apiGroup, resource, subresource, namespace, name: "", path: "" };
  return { ...request, inner };
};
