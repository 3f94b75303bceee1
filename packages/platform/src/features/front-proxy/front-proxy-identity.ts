// The user that a front proxy names in headers, as a user of the platform: everything that the other cluster says has a prefix.
// Source: k8s.io/apiserver/pkg/authentication/request/headerrequest/requestheader.go

import type { PlatformNames } from "@postern/api/platform-names";
import { badRequestError } from "@postern/apimachinery/meta/api-error";
import {
  ANONYMOUS_USER,
  anonymousUser,
  GROUP_AUTHENTICATED,
  GROUP_UNAUTHENTICATED,
  type UserInfo,
} from "@postern/apiserver/authentication/user-info";
import type { RequestHeaders } from "@postern/apiserver/transport/api-request";
import type { Configuration } from "../../foundation/config/configuration.ts";
import { groupsOfUser } from "../access-keys/access-key-identity.ts";
import type { Directory, DirectoryUser } from "../directory/directory.ts";

export type HeaderNames = Pick<Configuration["frontProxy"], "usernameHeaders" | "groupHeaders" | "extraHeadersPrefix">;

/** A user as the other cluster knows it. */
export type RemoteUser = Required<Pick<UserInfo, "name" | "groups" | "extra">>;

/**
 * Undefined where no header names a user. Throws ApiError 400 for a name that is given twice, or is no UTF-8: it could be read as another one. The
 * header of the uid is not read: kube-apiservers before 1.32 pass on what clients write there.
 */
export function remoteUserOf(headers: RequestHeaders, names: HeaderNames): RemoteUser | undefined {
  const name = names.usernameHeaders.map((header) => onlyValue(headers, header)).find((value) => value !== "");
  if (name === undefined) return undefined;
  const groups = names.groupHeaders.flatMap((header) => valuesOf(headers, header)).filter((group) => group !== "");
  return { name, groups, extra: extraOf(headers, names.extraHeadersPrefix.toLowerCase()) };
}

function extraOf(headers: RequestHeaders, prefix: string): RemoteUser["extra"] {
  const extra: { [key: string]: readonly string[] } = Object.create(null);
  for (const header in headers) {
    if (!header.startsWith(prefix) || header === prefix) continue;
    extra[decodedKey(header.slice(prefix.length))] = valuesOf(headers, header);
  }
  return extra;
}

function onlyValue(headers: RequestHeaders, header: string): string {
  const [value = "", another] = valuesOf(headers, header);
  if (another !== undefined) throw badRequestError(`the header ${header} is given more than once`);
  return value;
}

function valuesOf(headers: RequestHeaders, header: string): readonly string[] {
  const value = headers[header.toLowerCase()];
  if (value === undefined) return [];
  return (typeof value === "string" ? [value] : value).map(decodedValue);
}

/** With every character: two names must not become one. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Node reads header bytes as Latin-1. */
function decodedValue(value: string): string {
  try {
    return UTF8.decode(Buffer.from(value, "latin1"));
  } catch {
    throw badRequestError("a header of the front proxy is not valid UTF-8");
  }
}

function decodedKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

export type FrontProxyIdentity = {
  readonly user: UserInfo;
  /** The User with this name as its subject. */
  readonly known: DirectoryUser | undefined;
};

/** A request that was anonymous there is anonymous here. */
export function frontProxyIdentity(
  remote: RemoteUser,
  {
    prefix,
    directory,
    names,
  }: { readonly prefix: string; readonly directory: Directory; readonly names: PlatformNames },
): FrontProxyIdentity {
  const isAnonymous = remote.name === ANONYMOUS_USER || remote.groups.includes(GROUP_UNAUTHENTICATED);
  if (isAnonymous) return { user: anonymousUser, known: undefined };
  const name = `${prefix}${remote.name}`;
  const known = directory.userBySubject(name);
  const ofUser = known && groupsOfUser(known, { directory, names });
  const groups = [
    ...remote.groups.map((group) => `${prefix}${group}`),
    GROUP_AUTHENTICATED,
    ...(ofUser === undefined ? [] : [names.authenticatedGroup, ...ofUser.own, ...ofUser.represented]),
  ];
  return {
    user: {
      name,
      groups: [...new Set(groups)],
      ...(known === undefined ? {} : { uid: known.uid }),
      extra: withPrefix(remote.extra, prefix),
    },
    known,
  };
}

/** Attributes of the platform's own have other keys, since none has a colon. */
const withPrefix = (extra: RemoteUser["extra"], prefix: string): RemoteUser["extra"] =>
  Object.fromEntries(Object.entries(extra).map(([key, values]) => [`${prefix}${key}`, values]));
