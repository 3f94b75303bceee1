// Dependencies of the sign-in routes.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import type { Directory } from "../directory/directory.ts";
import type { IdentityProviders } from "./identity-provider-index.ts";
import type { OneTimeLink } from "./one-time-link.ts";
import type { ProviderClient } from "./provider-client.ts";
import type { SignInTransactions } from "./sign-in-flow.ts";
import type { SignInRecords } from "./sign-in-records.ts";
import type { SignInService } from "./sign-in-service.ts";

export type SignInRoutesDeps = {
  readonly names: PlatformNames;
  readonly directory: Directory;
  readonly keys: Pick<AccessKeyIndex, "find" | "whenFound">;
  readonly providers: Pick<IdentityProviders, "get" | "all">;
  readonly client: ProviderClient;
  readonly transactions: SignInTransactions;
  readonly records: SignInRecords;
  readonly service: SignInService;
  /** The first administrator, who signs in with the link on the terminal. */
  readonly administrator: {
    readonly link: OneTimeLink;
    /** Undefined: this server has no administrator's kubeconfig. */
    readonly key: () => Promise<string | undefined>;
  };
  /** Path of the page after a sign-in that names no other: the console, if this server has one. */
  readonly home: string;
  /** URL of this server for clients, such as `https://postern.example.com:8443`. */
  readonly publicUrl: () => string;
  readonly clock: Clock;
  readonly onError: (error: unknown, subject: string) => void;
};

export const LOGIN_PATH = "/login";
export const START_PATH = "/login/start";
export const CALLBACK_PATH = "/login/callback";

/** One for each provider, so that no response is accepted for another provider (RFC 9700 section 4.4). */
export const callbackUrl = (publicUrl: string, provider: string): string =>
  `${publicUrl}${CALLBACK_PATH}/${encodeURIComponent(provider)}`;
export const KEY_PATH = "/login/key";
export const SESSION_PATH = "/login/session";
export const LINK_PATH = "/login/link";
export const CONFIRM_PATH = "/login/confirm";
export const AUTHORIZE_PATH = "/oauth/authorize";
export const DEVICE_AUTHORIZATION_PATH = "/oauth/device_authorization";
export const DEVICE_PATH = "/device";
export const PROFILE_PATH = "/profile/access-keys";
export const SIGN_OUT_PATH = "/profile/sign-out";
export const METADATA_PATH = "/.well-known/oauth-authorization-server";
export const BACK_CHANNEL_PATH = "/oauth/backchannel-logout";

export const SESSION_COOKIE = "session";
/** The only OAuth client of this server. It has no secret: the loopback address and PKCE protect it. */
export const CLI_CLIENT = "postern-cli";
/** Where the original command line listens. */
export const ORIGINAL_CLI_URL = "http://localhost:25843/login";

export const STEP_MS = 10 * 60_000;
