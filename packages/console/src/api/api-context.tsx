// The API client of the signed-in user and its live collections, shared by the whole page.

import { type ApiClient, createApiClient } from "@postern/client/api-client";
import { createBrowserTransport } from "@postern/client/transport/browser";
import { createContext, useContext } from "react";
import type { SignedIn } from "../session/session.ts";
import type { Connection } from "./connection.ts";
import type { LiveCollections } from "./live-collections.ts";
import { createSessionTransport } from "./session-transport.ts";

export type Api = {
  readonly client: ApiClient;
  readonly live: LiveCollections;
  readonly session: SignedIn;
  readonly connection: Connection;
  readonly warnings: WarningLog;
};

/** Warnings of the server that were not shown yet. */
type WarningLog = {
  readonly take: () => readonly string[];
};

export function createApi(
  session: SignedIn,
  deps: { readonly live: LiveCollections; readonly connection: Connection; readonly onDoubt: () => void },
): Api {
  const { live, connection, onDoubt } = deps;
  let warnings: string[] = [];
  const transport = createSessionTransport({
    inner: createBrowserTransport({ server: "", fetch: globalThis.fetch.bind(globalThis) }),
    csrfToken: session.csrfToken,
    connection,
    onDoubt,
  });
  return {
    client: createApiClient({ transport, userAgent: "postern-console", onWarning: (text) => warnings.push(text) }),
    live,
    session,
    connection,
    warnings: {
      take() {
        const taken = warnings;
        warnings = [];
        return taken;
      },
    },
  };
}

export const ApiContext = createContext<Api | undefined>(undefined);

export function useApi(): Api {
  const api = useContext(ApiContext);
  if (api === undefined) throw new Error("nobody is signed in here");
  return api;
}
