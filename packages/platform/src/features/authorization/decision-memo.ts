// Caches decisions by caller, key revision and request until permissions change.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import type { PlatformDecision } from "./platform-decision.ts";
import type { PlatformRequest } from "./platform-request.ts";

/** The cache is cleared at this size: common decisions are back within a few requests. */
const CAPACITY = 50_000;
/** Characters of the requests that are remembered: clients choose them. */
const MAX_CHARACTERS = 16_000_000;

/** Decisions about one identity with one key. */
type Known = { readonly key: AccessKeyState | undefined; readonly decisions: Map<string, PlatformDecision> };

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
    const { decisions } = this.#of(user, key);
    const shape = shapeOf(request);
    const known = decisions.get(shape);
    if (known !== undefined) return known;
    const decision = decide();
    decisions.set(shape, decision);
    this.#size += 1;
    this.#characters += shape.length;
    return decision;
  }

  #of(user: UserInfo, key: AccessKeyState | undefined): Known {
    const last = this.#byUser.get(user);
    // A record of a key is another object with every change of it.
    if (last !== undefined && last.key === key) return last;
    const identity = JSON.stringify([user.name, user.groups]) + keyPart(key);
    const known = this.#byIdentity.get(identity);
    const found = known?.key === key && known !== undefined ? known : { key, decisions: known?.decisions ?? new Map() };
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

function shapeOf(request: PlatformRequest): string {
  const { isResourceRequest, verb, apiGroup, resource, subresource, namespace, name, path } = request.inner;
  const asked = isResourceRequest
    ? joined(verb, apiGroup, resource, subresource, namespace, name)
    : // Fewer members than a resource request has.
      joined(verb, path);
  switch (request.target) {
    case "Cluster":
      return asked + joined(request.target, request.cluster);
    case "ProjectSpace":
      return asked + joined(request.target, request.project, request.space);
    case "ProjectVirtualCluster":
      return asked + joined(request.target, request.project, request.virtualCluster);
    case "Management":
      return asked;
  }
}
