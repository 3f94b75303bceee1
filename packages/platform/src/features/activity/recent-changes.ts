// The newest changes of objects of the management API, for a page that says in words what happened.

import type { ObservedRequest } from "@postern/apiserver/chain/request-observer";
import { isChange } from "../audit/audit-changes.ts";

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
export class RecentChanges {
  readonly #ring: (RecentChange | undefined)[] = Array.from({ length: KEPT });
  #next = 0;

  note(call: ObservedRequest, at: number): void {
    const { info, innerRequest, request, recorder, user, credential } = call;
    if (!info.isResourceRequest || innerRequest !== undefined || request.query.has("dryRun")) return;
    const { verb, apiGroup, resource, subresource, namespace } = info;
    if (!isChange({ verb, objectRef: { apiGroup, resource, subresource } })) return;
    const name = recorder?.objectRef?.name ?? info.name;
    this.add({ at, user: user.name, credentialId: credential?.id, verb, resource, subresource, namespace, name });
  }

  add(change: RecentChange): void {
    this.#ring[this.#next] = change;
    this.#next = (this.#next + 1) % KEPT;
  }

  /** Those since a time, the newest first. */
  since(time: number): readonly RecentChange[] {
    return (
      [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)]
        .filter((change) => change !== undefined)
        .filter(({ at }) => at >= time)
        .reverse()
        // Those of other threads come later.
        .sort((one, other) => other.at - one.at)
    );
  }
}
