// The holders of client certificates that were used lately: the certificate itself is not stored, so that its ID alone names no one.

import { PROXY_TARGET_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import type { ObservedRequest } from "@postern/apiserver/chain/request-observer";

export type CertificateUse = {
  /** The user name in it. */
  readonly owner: string;
  /** `<project>/<name>` of the virtual cluster that it was used in. */
  readonly virtualCluster: string;
};

/** As the IDs of credentials that are certificates begin. */
const CERTIFICATE = "certificate:";
/** As the targets of requests into virtual clusters begin. */
const INTO = "virtualcluster/";
/** An hour has at most half as many of the certificates that are counted as the most frequent. */
const KEPT = 512;

export class RecentCertificates {
  readonly #uses = new Map<string, CertificateUse>();

  note({ credential, user, innerRequest }: Pick<ObservedRequest, "credential" | "user" | "innerRequest">): void {
    const id = credential?.id;
    if (id === undefined || !id.startsWith(CERTIFICATE) || this.#uses.has(id)) return;
    const target = innerRequest?.annotations[PROXY_TARGET_ANNOTATION];
    if (target?.startsWith(INTO) !== true) return;
    this.add(id, { owner: user.name, virtualCluster: target.slice(INTO.length) });
  }

  add(id: string, use: CertificateUse): void {
    this.#uses.set(id, use);
    // One that is still used comes back with its next request.
    for (const oldest of this.#uses.keys()) {
      if (this.#uses.size <= KEPT) break;
      this.#uses.delete(oldest);
    }
  }

  /** By the ID of the credential. */
  find(id: string): CertificateUse | undefined {
    return this.#uses.get(id);
  }
}
