// Paths of sign-in, its cookie, and its one OAuth client.

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
/** The public keys of this server as a client. */
export const CLIENT_KEYS_PATH = "/oauth/client-keys";
export const BACK_CHANNEL_PATH = "/oauth/backchannel-logout";

/** Light or dark, as the console sets it. */
export const THEME_COOKIE = "theme";
export const SESSION_COOKIE = "session";
/** The only OAuth client of this server. It has no secret: the loopback address and PKCE protect it. */
export const CLI_CLIENT = "postern-cli";
/** Where the original command line listens. */
export const ORIGINAL_CLI_URL = "http://localhost:25843/login";

/** Between two steps of a sign-in, such as the page that asks for a confirmation and the answer to it. */
export const STEP_MS = 10 * 60_000;
