// User names and groups of ServiceAccounts.
// Source: k8s.io/apiserver/pkg/authentication/serviceaccount/util.go

import { isDNS1123Label, isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";

const USERNAME_PREFIX = "system:serviceaccount:";

/** Group of all service accounts; the one of a namespace has the namespace behind a colon. */
export const GROUP_SERVICE_ACCOUNTS = "system:serviceaccounts";

export const serviceAccountUsername = (namespace: string, name: string): string =>
  `${USERNAME_PREFIX}${namespace}:${name}`;

/** Undefined when the user name is not that of a service account. */
export function parseServiceAccountUsername(
  username: string,
): { readonly namespace: string; readonly name: string } | undefined {
  if (!username.startsWith(USERNAME_PREFIX)) return undefined;
  const parts = username.slice(USERNAME_PREFIX.length).split(":");
  const [namespace, name] = parts;
  if (parts.length !== 2 || namespace === undefined || name === undefined) return undefined;
  if (isDNS1123Label(namespace).length > 0 || isDNS1123Subdomain(name).length > 0) return undefined;
  return { namespace, name };
}

/** The groups every service account of a namespace is in, beside `system:authenticated`. */
export const serviceAccountGroups = (namespace: string): readonly string[] => [
  GROUP_SERVICE_ACCOUNTS,
  `${GROUP_SERVICE_ACCOUNTS}:${namespace}`,
];
