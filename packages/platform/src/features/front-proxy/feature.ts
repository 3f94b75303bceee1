// The management API as an aggregated API of another cluster, whose kube-apiserver forwards requests of its users.

import { readFile } from "node:fs/promises";
import type { Authenticator } from "@postern/apiserver/authentication/authenticator";
import type { Filter } from "@postern/apiserver/chain/run-filters";
import type { Logger } from "@postern/apiserver/logging/logger";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";
import type { Foundation } from "../../foundation/foundation.ts";
import { followFiles } from "../../foundation/pki/follow-files.ts";
import type { Directory } from "../directory/directory.ts";
import { createFrontProxyAuthenticator } from "./front-proxy-authenticator.ts";
import { withoutForeignNamespaces } from "./without-foreign-namespaces.ts";

export type FrontProxy = {
  readonly authenticator: Authenticator;
  /** For `withRefusals` of a chain. */
  readonly withRefusals: Filter;
};

/** Undefined where none is configured. Rejects with ConfigurationError for a file without a CA certificate. */
export async function openFrontProxy(
  { configuration, names, installed, runtime: { clock, scheduler } }: Foundation,
  { directory, logger }: { readonly directory: Directory; readonly logger: Logger },
): Promise<(FrontProxy & Disposable) | undefined> {
  const settings = configuration.frontProxy;
  const path = settings.clientCAFile;
  if (path === "") return undefined;
  const authenticator = createFrontProxyAuthenticator({ settings, names, directory, clock });
  let current = "";
  const load = async (): Promise<void> => {
    const text = await readFile(path, "utf8");
    if (text === current) return;
    authenticator.trust(text);
    current = text;
  };
  try {
    await load();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationError(`--requestheader-client-ca-file ${path} cannot be used: ${why}`, { cause });
  }
  const following = followFiles([path], scheduler, async () => {
    const before = current;
    try {
      await load();
      if (current !== before)
        logger.info({ cause: path }, "the changed CA of --requestheader-client-ca-file is trusted");
    } catch (error) {
      // It may be half written; the next look comes within a minute.
      logger.warn(
        { error, cause: path },
        "--requestheader-client-ca-file cannot be used: the earlier CA is trusted on",
      );
    }
  });
  const hasNamespace = (name: string): boolean => {
    const { view, keys } = installed("", "Namespace");
    return view.get(keys.of("", name)) !== undefined;
  };
  return {
    authenticator,
    withRefusals: withoutForeignNamespaces({ prefix: settings.prefix, hasNamespace }),
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}
