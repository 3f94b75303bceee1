// The identity of a caller in headers, for a target that the platform authenticates to with a credential of its own.
// Source: k8s.io/client-go/transport/round_trippers.go (impersonatingRoundTripper)

import { forbiddenPathError } from "@postern/apimachinery/meta/api-error";
import { GROUP_AUTHENTICATED, type UserInfo } from "@postern/apiserver/authentication/user-info";
import { isSystemName } from "../../foundation/kinds/system-name.ts";
import type { HeaderList } from "../../foundation/upstream/header-list.ts";

/** Parsers remove these, or end the header at them: the target would read another name. */
const ALTERED_ON_THE_WAY = /^[ \t]|[ \t]$|[\p{Cc}\u{fffe}\u{ffff}]/u;

/**
 * No caller passes as a part of the target's own system: such a user is refused, such groups are left out. All others are in
 * system:authenticated, which the target adds by itself. Throws ApiError 403.
 */
export function impersonationHeaders({ name, uid, groups, extra = {} }: UserInfo): HeaderList {
  if (name === "" || isSystemName(name))
    throw forbiddenPathError(`user ${JSON.stringify(name)} cannot be impersonated through the proxy`);
  const headers = ["impersonate-user", headerText(name)];
  if (uid !== undefined && uid !== "") headers.push("impersonate-uid", headerText(uid));
  for (const group of groups) {
    if (!isSystemName(group) && group !== GROUP_AUTHENTICATED) headers.push("impersonate-group", headerText(group));
  }
  for (const [key, values] of Object.entries(extra)) {
    for (const value of values) headers.push(`impersonate-extra-${headerKey(key)}`, headerText(value));
  }
  return headers;
}

/** UTF-8, an octet a character, as Node writes headers. */
function headerText(text: string): string {
  if (text === "" || ALTERED_ON_THE_WAY.test(text)) {
    throw forbiddenPathError(`the name ${JSON.stringify(text)} cannot be sent in a header`);
  }
  return Buffer.from(text, "utf8").toString("latin1");
}

/** Percent-encodes what a header name cannot hold, and percent signs themselves; the target decodes it, in lower case. */
const headerKey = (key: string): string =>
  encodeURIComponent(key.toLowerCase()).replaceAll(
    /[()]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
