// One etcd for each worker of the tests, where STORES has etcd: every server has a prefix of its own in it, and no other test writes while one runs.

import { inject } from "vitest";

export type SharedEtcd = {
  /** Host and port. */
  readonly endpoint: string;
  /** Where it keeps what the servers give it. */
  readonly folder: string;
};

declare module "vitest" {
  export interface ProvidedContext {
    /** One for each worker; none where no test runs on etcd, or it is not installed. Projects without servers provide nothing. */
    sharedEtcds: readonly SharedEtcd[] | undefined;
  }
}

/** That of this worker. */
export function sharedEtcd(): SharedEtcd | undefined {
  const etcds = inject("sharedEtcds") ?? [];
  return etcds[Number(process.env["VITEST_POOL_ID"] ?? 0) % etcds.length];
}
