// A certified OpenID provider (npm's oidc-provider) on a real TLS socket, with the people and the key that a test says.

import { KeyObject, randomBytes } from "node:crypto";
import type { RequestListener } from "node:http";
import { createServer, request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { newSigningKey } from "@postern/platform/foundation/issuers/testing/serve-issuer";
import Provider from "oidc-provider";

type Person = { readonly [claim: string]: unknown };

export type ServedProvider = AsyncDisposable & {
  readonly url: string;
  readonly certificateAuthorityPem: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** By sub. A person who is removed is unknown at the next request. */
  readonly people: Map<string, Person>;
  readonly provider: any;
  /** Serves requests in place of the provider, where it is set. */
  intercept: RequestListener | undefined;
  /** Requests that came, such as `POST /token`. */
  readonly requests: string[];
  /** Ends every grant of a person: refresh tokens are refused from then on. */
  refuse(sub: string): void;
  /** Goes on with a new signing key. */
  rollOver(): Promise<void>;
};

/** `platform`: where the client is, and the CA that verifies it. `authentication`: metadata of the client, in place of its secret. */
export async function serveProvider(
  platform: { readonly url: string; readonly ca: string | Buffer },
  name = "idp",
  certificate = createTestCertificate(),
  authentication: object = {},
): Promise<ServedProvider> {
  const people = new Map<string, Person>();
  const refused = new Set<string>();
  const requests: string[] = [];
  const clientId = "postern-at-provider";
  const clientSecret = randomBytes(24).toString("hex");
  let listener: RequestListener = () => {};
  const server = createServer({ ...certificate }, (request, response) => {
    requests.push(`${request.method} ${(request.url ?? "").split("?")[0]}`);
    if (served.intercept !== undefined) return void served.intercept(request, response);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cookieKey = randomBytes(24).toString("hex");
  /** Outlives a change of keys. */
  const stored = new Map<string, any>();

  const start = async (): Promise<any> => {
    const key = await newSigningKey("RS256");
    const jwks = {
      keys: [{ ...KeyObject.from(key.privateKey).export({ format: "jwk" }), kid: key.kid, alg: "RS256", use: "sig" }],
    };
    const provider = new Provider(url, {
      jwks,
      adapter: adapterOver(stored),
      cookies: { keys: [cookieKey] },
      clients: [
        {
          client_id: clientId,
          ...(Object.keys(authentication).length === 0 ? { client_secret: clientSecret } : authentication),
          redirect_uris: [`${platform.url}/login/callback/${name}`],
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code"],
          backchannel_logout_uri: `${platform.url}/oauth/backchannel-logout/${name}`,
          backchannel_logout_session_required: true,
        },
      ],
      claims: {
        openid: ["sub"],
        profile: ["name", "preferred_username", "groups"],
        email: ["email", "email_verified"],
      },
      scopes: ["openid", "offline_access", "profile", "email"],
      findAccount: (_: unknown, sub: string) =>
        people.has(sub) && !refused.has(sub)
          ? { accountId: sub, claims: () => ({ sub, ...people.get(sub) }) }
          : undefined,
      features: {
        devInteractions: { enabled: true },
        backchannelLogout: { enabled: true },
        rpInitiatedLogout: { enabled: true },
      },
      pkce: { required: () => true },
      acrValues: ["pwd", "mfa"],
      rotateRefreshToken: true,
      ttl: {
        AccessToken: 600,
        AuthorizationCode: 60,
        IdToken: 600,
        Interaction: 600,
        Session: 3600,
        Grant: 3600,
        RefreshToken: 3600,
      },
      fetch: (target: string | URL, options: { method?: string; body?: unknown; headers?: Record<string, string> }) =>
        fetchTrusting(platform.ca, new URL(target), options),
    });
    listener = provider.callback();
    return provider;
  };
  const served = {
    url,
    certificateAuthorityPem: certificate.cert,
    clientId,
    clientSecret,
    people,
    provider: undefined as any,
    intercept: undefined as RequestListener | undefined,
    requests,
    refuse: (sub: string) => void refused.add(sub),
    async rollOver() {
      served.provider = await start();
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  await served.rollOver();
  return served;
}

/** oidc-provider's own one forgets everything with the provider. */
const adapterOver = (stored: Map<string, any>) =>
  class {
    readonly #name: string;
    constructor(name: string) {
      this.#name = name;
    }
    #key = (id: string): string => `${this.#name}:${id}`;
    async upsert(id: string, payload: any): Promise<void> {
      stored.set(this.#key(id), payload);
      if (payload.uid !== undefined) stored.set(`uid:${payload.uid}`, id);
    }
    async find(id: string): Promise<any> {
      return stored.get(this.#key(id));
    }
    async findByUid(uid: string): Promise<any> {
      return stored.get(this.#key(stored.get(`uid:${uid}`)));
    }
    async findByUserCode(): Promise<undefined> {}
    async consume(id: string): Promise<void> {
      const found = stored.get(this.#key(id));
      if (found !== undefined) found.consumed = Math.floor(Date.now() / 1000);
    }
    async destroy(id: string): Promise<void> {
      stored.delete(this.#key(id));
    }
    async revokeByGrantId(grantId: string): Promise<void> {
      for (const [key, payload] of stored) if (payload?.grantId === grantId) stored.delete(key);
    }
  };

function fetchTrusting(
  ca: string | Buffer,
  target: URL,
  { method = "GET", body, headers }: { method?: string; body?: unknown; headers?: Record<string, string> },
): Promise<Response> {
  const text = body === undefined || body === null ? undefined : String(body);
  return new Promise((resolve, reject) => {
    const own = Object.fromEntries(new Headers(headers));
    const request = httpsRequest(
      target,
      { method, ca, headers: { ...own, ...(text === undefined ? {} : { "content-length": Buffer.byteLength(text) }) } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => resolve(new Response(Buffer.concat(chunks), { status: response.statusCode ?? 500 })));
      },
    );
    request.on("error", reject);
    request.end(text);
  });
}
