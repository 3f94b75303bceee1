// POST /oauth/backchannel-logout/<provider>: a provider ends the sessions of a user.
// Source: OpenID Connect Back-Channel Logout 1.0

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { IssuerKeys } from "../../../foundation/issuers/issuer-keys.ts";
import type { KeySet } from "../../../foundation/issuers/key-set.ts";
import {
  candidateKeys,
  decodeToken,
  isSignedBy,
  TokenError,
  timeError,
} from "../../../foundation/issuers/signed-token.ts";
import { oauthAnswer, oauthFailure } from "../../../foundation/issuers/token-endpoint.ts";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";
import { askedByForm } from "../pages/sign-in-forms.ts";
import type { IdentityProviders } from "../providers/identity-provider-index.ts";
import { type IdentityProviderState, providerId } from "../providers/provider-state.ts";
import { BACK_CHANNEL_PATH } from "../sign-in-paths.ts";

export type BackChannelLogoutDeps = {
  readonly providers: Pick<IdentityProviders, "get">;
  readonly issuerKeys: Pick<IssuerKeys, "find">;
  readonly allKeys: () => Iterable<AccessKeyState>;
  /** Resolves with false if the token was used before. */
  readonly take: (provider: IdentityProviderState, tokenId: string, expiresAt: number) => Promise<boolean>;
  readonly endSession: (key: AccessKeyState) => Promise<void>;
  readonly annotation: (name: string) => string;
  readonly now: () => number;
};

const EVENT = "http://schemas.openid.net/event/backchannel-logout";
const MAX_AGE_MS = 10 * 60_000;
const MAX_ID = 512;

export async function logOutByBackChannel(
  { request, info, audit, outside }: RequestContext,
  deps: BackChannelLogoutDeps,
): Promise<ApiResponse> {
  const name = info.path.slice(BACK_CHANNEL_PATH.length + 1);
  const provider = deps.providers.get(name);
  const text = (await askedByForm(request)).get("logout_token") ?? "";
  try {
    if (provider === undefined || provider.isOff) throw new TokenError("there is no such identity provider");
    const { sub, sid } = await verify(text, provider, deps, outside);
    const id = providerId(name);
    const ended = [...deps.allKeys()].filter(
      ({ grant, isRetiredValue }) =>
        isRetiredValue !== true &&
        grant?.login !== undefined &&
        grant.rule === id &&
        (sub === undefined || grant.login.sub === sub) &&
        (sid === undefined || grant.login.sid === sid),
    );
    for (const key of ended) await deps.endSession(key);
    audit.annotate(
      deps.annotation("sessions-ended"),
      ended
        .map((key) => key.name)
        .join(",")
        .slice(0, 1_024),
    );
    return oauthAnswer(200, {});
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    audit.annotate(deps.annotation("logout-refusal"), error.message);
    return oauthFailure("invalid_request", error.message);
  }
}

type LoggedOut = { readonly sub: string | undefined; readonly sid: string | undefined };

/** Section 2.6. Throws TokenError. */
async function verify(
  text: string,
  provider: IdentityProviderState,
  { issuerKeys, take, now }: BackChannelLogoutDeps,
  outside: RequestContext["outside"],
): Promise<LoggedOut> {
  const token = decodeToken(text, { types: ["jwt", "logout+jwt"] });
  const { iat, jti, sub, sid, nonce, events } = token.claims;
  if (token.issuer !== provider.source.issuer) throw new TokenError("the token is from another issuer (iss)");
  if (!token.audiences.includes(provider.spec.clientId)) throw new TokenError("the token is for another client (aud)");
  const isMissing = (known: KeySet): boolean => candidateKeys(token, known).length === 0;
  const { keys } = await issuerKeys.find(provider.source, isMissing, outside);
  if (!(await isSignedBy(token, candidateKeys(token, keys)))) throw new TokenError("the signature is wrong");
  const fault = timeError(token, now());
  if (fault !== undefined) throw new TokenError(fault);
  if (typeof iat !== "number" || now() - iat * 1000 > MAX_AGE_MS) throw new TokenError("the token is too old (iat)");
  if (!isJsonObject(events) || !isJsonObject(events[EVENT]))
    throw new TokenError("the token is not a logout token (events)");
  if (nonce !== undefined) throw new TokenError("the token has a nonce");
  const isText = (value: unknown): value is string =>
    typeof value === "string" && value !== "" && value.length <= MAX_ID;
  if ((sub !== undefined && !isText(sub)) || (sid !== undefined && !isText(sid)) || (sub ?? sid) === undefined)
    throw new TokenError("the token names neither a user nor a session (sub, sid)");
  if (!isText(jti)) throw new TokenError("the token has no jti");
  if (!(await take(provider, jti, Math.max(token.expiresAt, now() + MAX_AGE_MS))))
    throw new TokenError("the token was used before (jti)");
  return { sub, sid };
}
