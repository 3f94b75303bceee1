// The browser's session: a cookie that scripts cannot read, and what the server says about it.

export type Provider = { readonly name: string; readonly displayName: string; readonly loginUrl: string };

export type Session =
  | {
      readonly signedIn: true;
      readonly user: string;
      readonly displayName: string;
      /** Sent in the header of every write. */
      readonly csrfToken: string;
      /** Absent: it never expires. */
      readonly expiresAt: string | undefined;
      /** The access key of the session. */
      readonly keyName: string;
      readonly providers: readonly Provider[];
    }
  | { readonly signedIn: false; readonly providers: readonly Provider[] };

export type SignedIn = Extract<Session, { readonly signedIn: true }>;

const ADDRESS = "/login/session";
export const CSRF_HEADER = "x-postern-csrf";

/** A refusal, in the server's words. */
export class SessionError extends Error {
  override readonly name = "SessionError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export async function readSession(signal?: AbortSignal): Promise<Session> {
  const response = await fetch(ADDRESS, { headers: { accept: "application/json" }, ...(signal && { signal }) });
  const body = await bodyOf(response);
  if (response.status === 401) return { signedIn: false, providers: providersOf(body) };
  if (!response.ok) throw refusal(response, body);
  return sessionOf(body);
}

/** The key leaves this page with the request and is not stored. Throws SessionError. */
export async function signInWithKey(key: string): Promise<void> {
  const response = await fetch(ADDRESS, {
    method: "POST",
    headers: { accept: "application/json", "content-type": "application/json" },
    body: JSON.stringify({ key }),
  });
  if (!response.ok) throw refusal(response, await bodyOf(response));
}

export async function signOut(csrfToken: string): Promise<void> {
  const headers = { accept: "application/json", [CSRF_HEADER]: csrfToken };
  const response = await fetch(ADDRESS, { method: "DELETE", headers });
  if (!response.ok && response.status !== 401) throw refusal(response, await bodyOf(response));
}

type Body = { readonly [member: string]: unknown };

const bodyOf = async (response: Response): Promise<Body> => {
  try {
    const body: unknown = await response.json();
    return typeof body === "object" && body !== null ? (body as Body) : {};
  } catch {
    return {};
  }
};

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function sessionOf(body: Body): Session {
  const { user, expiresAt } = body;
  const person: Body = typeof user === "object" && user !== null ? (user as Body) : { name: user };
  const name = textOf(person["name"]);
  return {
    signedIn: true,
    user: name,
    displayName: textOf(person["displayName"]) || name,
    csrfToken: textOf(body["csrfToken"]),
    expiresAt: textOf(expiresAt) || undefined,
    keyName: textOf(body["keyName"]),
    providers: providersOf(body),
  };
}

const providersOf = ({ providers }: Body): readonly Provider[] =>
  (Array.isArray(providers) ? providers : []).map((provider: Body) => ({
    name: textOf(provider["name"]),
    displayName: textOf(provider["displayName"]) || textOf(provider["name"]),
    loginUrl: textOf(provider["loginUrl"]),
  }));

const refusal = ({ status }: Response, { message }: Body): SessionError =>
  new SessionError(status, textOf(message) || `the server answered with code ${status}`);
