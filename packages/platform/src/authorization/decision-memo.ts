// Remembers decisions per who asks, key revision and request, for as long as nobody's rights change.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import type { PlatformDecision } from "./decision.ts";
import type { PlatformRequest } from "./request-target.ts";

/** All is forgotten when so many are known: the common ones are back within a few requests. */
const CAPACITY = 50_000;

export class DecisionMemo {
  #version: number | undefined;
  readonly #decisions = new Map<string, PlatformDecision>();
  /** Authenticators that keep what they know of a user spare us writing it out again. */
  readonly #identities = new WeakMap<UserInfo, string>();

  /** The decision made at `version` of the rights, or `decide()`, which then is remembered. */
  recall(
    version: number,
    user: UserInfo,
    key: AccessKeyState | undefined,
    request: PlatformRequest,
    decide: () => PlatformDecision,
  ): PlatformDecision {
    if (version !== this.#version || this.#decisions.size >= CAPACITY) {
      this.#decisions.clear();
      this.#version = version;
    }
    const shape = this.#identity(user) + keyPart(key) + requestPart(request);
    const known = this.#decisions.get(shape);
    if (known !== undefined) return known;
    const decision = decide();
    this.#decisions.set(shape, decision);
    return decision;
  }

  #identity(user: UserInfo): string {
    return this.#identities.get(user) ?? this.#writeOut(user);
  }

  #writeOut(user: UserInfo): string {
    const identity = JSON.stringify([user.name, user.groups]);
    this.#identities.set(user, identity);
    return identity;
  }
}

/** The uid too: a name or a handle may come again, and a revision is of one record. */
const keyPart = (key: AccessKeyState | undefined): string => `${key?.uid}@${key?.revision}`;

/** JSON, so that no text that a client sends can stand for two requests. */
function requestPart(request: PlatformRequest): string {
  const { isResourceRequest, verb, apiGroup, resource, subresource, namespace, name, path } = request.inner;
  const asked = isResourceRequest
    ? [verb, apiGroup, resource, subresource, namespace, name]
    : // One member fewer than a resource request has.
      [verb, path];
  switch (request.target) {
    case "Cluster":
      return JSON.stringify([request.target, asked, request.cluster]);
    case "ProjectSpace":
      return JSON.stringify([request.target, asked, request.project, request.space]);
    case "ProjectVirtualCluster":
      return JSON.stringify([request.target, asked, request.project, request.virtualCluster]);
    case "Management":
      return JSON.stringify([request.target, asked]);
  }
}
