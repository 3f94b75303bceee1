// Assembles sign-in: identity providers, users, and session keys.

import { Readable } from "node:stream";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { HandlerChain } from "@postern/apiserver/chain/handler-chain";
import { resolveRequest } from "@postern/apiserver/request/request-info";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { requestOf } from "@postern/apiserver/transport/api-request";
import type { ResponseBody } from "@postern/apiserver/transport/api-response";
import { requiredResource } from "@postern/kubernetes/server/required-resource";
import type { PlatformCore } from "../core/platform-core.ts";
import type { BackChannelLogoutDeps } from "../features/sign-in/back-channel-logout.ts";
import type { IdentityProviders } from "../features/sign-in/identity-providers.ts";
import { createMintChild, createMintLogin } from "../features/sign-in/login-keys.ts";
import { createProviderClient, type ProviderClient } from "../features/sign-in/provider-client.ts";
import { fetchFromProviders } from "../features/sign-in/provider-fetch.ts";
import type { SignInRoutesDeps } from "../features/sign-in/sign-in-deps.ts";
import { createSignInTransactions } from "../features/sign-in/sign-in-flow.ts";
import { createSignInRecords } from "../features/sign-in/sign-in-records.ts";
import {
  createSignInService,
  type ManagementAnswer,
  type ManagementCall,
} from "../features/sign-in/sign-in-service.ts";
import { createSignInUsers, type SignInUsers } from "../features/sign-in/sign-in-users.ts";
import { markTokenUsed } from "../features/trust/used-tokens.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import type { ManagementSurface } from "./management-surface.ts";

export type SignInDeps = {
  readonly core: PlatformCore;
  readonly surface: ManagementSurface;
  readonly configuration: Configuration;
  readonly runtime: Runtime;
  /** Once the server listens. */
  readonly publicUrl: () => string;
  /** Ends with the server. */
  readonly signal: AbortSignal;
};

export type SignInParts = SignInDeps & {
  readonly providers: IdentityProviders;
  readonly client: ProviderClient;
  readonly users: SignInUsers;
  readonly isReserved: (name: string) => boolean;
  readonly backChannel: BackChannelLogoutDeps;
};

export function createSignInParts(deps: SignInDeps): SignInParts {
  const { core, surface, configuration, runtime, signal } = deps;
  const { names, directory, identityProviders, issuerKeys, keys } = core;
  const { clock, scheduler } = runtime;
  const installed = (group: string, kind: string) => requiredResource(surface.registry, group, kind);
  const client = createProviderClient({
    fetchFrom: fetchFromProviders(configuration, names, scheduler, signal),
    issuerKeys,
    secretAt(namespace, name, key) {
      const { view, keys: secretKeys } = installed("", "Secret");
      const data = view.get(secretKeys.of(namespace, name))?.decode()["data"];
      const value = isJsonObject(data) ? data[key] : undefined;
      return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : undefined;
    },
    clock,
    scheduler,
  });
  const users = createSignInUsers({
    directory,
    users: () => installed(names.managementGroup, "User"),
    teams: () => installed(names.managementGroup, "Team"),
    clock,
    signal,
  });
  return {
    ...deps,
    providers: identityProviders,
    client,
    users,
    isReserved: (name) => {
      const folded = name.trim().toLowerCase();
      return folded.startsWith("system:") || folded.startsWith(`${names.name.toLowerCase()}:`);
    },
    backChannel: {
      providers: identityProviders,
      issuerKeys,
      allKeys: () => keys.all(),
      take: ({ source }, id, expiresAt) =>
        markTokenUsed(core.takenTokens, { source, project: undefined }, `logout ${id}`, expiresAt),
      endSession: ({ name }) => surface.mint.revoke(name, signal),
      annotation: (name) => names.key(name),
      now: () => clock.now(),
    },
  };
}

/** `management` handles requests of pages on behalf of the signed-in user. */
export function createSignInDeps(
  parts: SignInParts,
  management: HandlerChain,
  { administrator, home }: Pick<SignInRoutesDeps, "administrator" | "home">,
): SignInRoutesDeps {
  const { core, surface, runtime, publicUrl, signal, providers, client, users, isReserved } = parts;
  const { names, directory, secrets, keys } = core;
  const { clock, random } = runtime;
  return {
    names,
    directory,
    keys,
    providers,
    client,
    transactions: createSignInTransactions(secrets, clock, random),
    records: createSignInRecords(core.signInRecords, secrets, clock),
    service: createSignInService({
      providers,
      users,
      mintLogin: createMintLogin(surface.mint, clock, signal),
      mintChild: createMintChild({ mint: surface.mint, keys, records: core.keyRecords, directory, clock, signal }),
      endSession: (keyName) => surface.mint.revoke(keyName, signal),
      isReserved,
      apiVersion: `${names.managementGroup}/v1`,
      call: createManagementCall(management, names.managementGroup, signal),
    }),
    publicUrl,
    administrator,
    home,
    clock,
    onError: surface.onError,
  };
}

/** Through the whole chain of filters: what a page does is allowed, limited and audited as if the browser had done it. */
export const createManagementCall =
  (management: HandlerChain, group: string, signal: AbortSignal) =>
  async ({ method, path, query = {}, key, from, body }: ManagementCall): Promise<ManagementAnswer> => {
    const text = body === undefined ? "" : stringifyJson(body);
    const address = `/apis/${group}/v1/${path}`;
    const parameters = new URLSearchParams({ ...query });
    const request = requestOf({
      method,
      path: address,
      basePath: "",
      query: parameters,
      requestUri: parameters.size === 0 ? address : `${address}?${parameters}`,
      headers: {
        accept: "application/json",
        authorization: `Bearer ${key}`,
        "user-agent": "sign-in",
        ...(text === "" ? {} : { "content-type": "application/json" }),
      },
      httpVersion: "1.1",
      remoteAddress: from,
      host: "localhost",
      peerCertificate: () => undefined,
      body: () => Promise.resolve(Buffer.from(text)),
      bodyStream: () => Readable.from([text]),
      signal,
    });
    const answer = await management(request, resolveRequest(request));
    const bytes = await bytesOf(answer.body, signal);
    const value = parseJson(bytes);
    return { status: answer.status, body: isJsonObject(value) ? value : {}, size: bytes.length };
  };

/** Long lists come as a stream. */
async function bytesOf(body: ResponseBody, signal: AbortSignal): Promise<Uint8Array> {
  if (body.type === "bytes") return Buffer.from(body.bytes);
  if (body.type === "upgraded") throw new Error("the management API upgraded the connection of a request");
  const chunks: Buffer[] = [];
  const write = (chunk: Uint8Array | string): boolean => {
    chunks.push(Buffer.from(chunk));
    return true;
  };
  await body.run({ write, bufferedBytes: 0 }, signal);
  return Buffer.concat(chunks);
}
