// Tells lasting requests when the certificate that they were made with stops being good.

import type { AccessKeyIndex } from "../access-keys/index/access-key-index.ts";
import type { Directory } from "../directory/directory.ts";
import { type IssuedCertificate, parentUidsOf } from "./issued-certificate.ts";

type CertificateWatchesDeps = {
  readonly find: (serial: string) => IssuedCertificate | undefined;
  readonly isRefused: (certificate: IssuedCertificate) => boolean;
  readonly keys: Pick<AccessKeyIndex, "byUid" | "onRevoked">;
  readonly directory: Pick<Directory, "onChange">;
};

export class CertificateWatches {
  readonly #deps: CertificateWatchesDeps;
  /** By serial: the checks of all watches of the certificate. */
  readonly #checks = new Map<string, Set<() => void>>();

  constructor(deps: CertificateWatchesDeps) {
    this.#deps = deps;
  }

  /** Calls back once when the certificate stops being good, or the key that it was issued to changes what it may. */
  add(serial: string, listener: () => void): Disposable {
    const { find, isRefused, keys, directory } = this.#deps;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      listener();
    };
    const check = (): void => {
      const now = find(serial);
      if (now === undefined || isRefused(now)) end();
    };
    const checks = this.#checks.get(serial) ?? new Set();
    this.#checks.set(serial, checks.add(check));
    const parents = parentUidsOf(find(serial)).flatMap((uid) => keys.byUid(uid) ?? []);
    const handles = [directory.onChange(check), ...parents.map(({ id }) => keys.onRevoked(id, end))];
    return {
      [Symbol.dispose]: () => {
        isOver = true;
        checks.delete(check);
        if (checks.size === 0 && this.#checks.get(serial) === checks) this.#checks.delete(serial);
        for (const handle of handles) handle[Symbol.dispose]();
      },
    };
  }

  /** Looks at a certificate again after it changed. */
  recheck(serial: string): void {
    for (const check of [...(this.#checks.get(serial) ?? [])]) check();
  }

  recheckAll(): void {
    for (const serial of [...this.#checks.keys()]) this.recheck(serial);
  }
}
