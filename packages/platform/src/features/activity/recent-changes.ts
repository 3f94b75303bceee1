// The newest changes of objects of the management API, for a page that says in words what happened.

import type { ObservedRequest } from "@postern/apiserver/chain/request-observer";

export type RecentChange = {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly user: string;
  /** The public handle of the credential; undefined without one. */
  readonly credentialId: string | undefined;
  readonly verb: string;
  readonly resource: string;
  /** Empty: the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  /** Empty where neither the path nor the audit log has it. */
  readonly name: string;
};

const KEPT = 200;
const CHANGES: ReadonlySet<string> = new Set(["create", "update", "patch", "delete", "deletecollection"]);
/** Questions, and what programs write over and over. */
const QUESTIONS: ReadonlySet<string> = new Set([
  "authorization.k8s.io",
  "authentication.k8s.io",
  "coordination.k8s.io",
]);
const OTHERS: ReadonlySet<string> = new Set(["selves", "events", "ownaccessreviews"]);

export class RecentChanges {
  readonly #ring: (RecentChange | undefined)[] = Array.from({ length: KEPT });
  #next = 0;

  note(call: ObservedRequest, at: number): void {
    const { info, innerRequest, request, recorder, user, credential } = call;
    if (!info.isResourceRequest || !CHANGES.has(info.verb) || innerRequest !== undefined) return;
    if (QUESTIONS.has(info.apiGroup) || OTHERS.has(info.resource) || request.query.has("dryRun")) return;
    const { verb, resource, subresource, namespace } = info;
    const name = recorder?.objectRef?.name ?? info.name;
    const change = { at, user: user.name, credentialId: credential?.id, verb, resource, subresource, namespace, name };
    this.#ring[this.#next] = change;
    this.#next = (this.#next + 1) % KEPT;
  }

  /** Those since a time, the newest first. */
  since(time: number): readonly RecentChange[] {
    return [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)]
      .filter((change) => change !== undefined)
      .filter(({ at }) => at >= time)
      .reverse();
  }
}
