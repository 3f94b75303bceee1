// The fields of an access key: the schema that clients are checked against, the type, and the reference text.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import type { PlatformNames } from "../platform-names.ts";
import { REQUEST_TARGETS, restrictionNames } from "./access-key-restrictions.ts";
import { conditionsField } from "./conditions.ts";
import { issuedByField } from "./issued-by.ts";
import { accessKeyRule, accessKeyScope } from "./scope-fields.ts";

export const ACCESS_KEY_TYPES = [
  "",
  "Login",
  "User",
  "Other",
  "Reset",
  "OIDCRefreshToken",
  "NetworkPeer",
  "Workspace",
] as const;

export { REQUEST_TARGETS };

const identity = s
  .object({
    userId: s.string().describe("Subject of the user at the identity provider."),
    username: s.string().describe("Username."),
    preferredUsername: s.string().describe("Username that the user prefers, or the display name."),
    email: s.string().describe("E-mail address of the user."),
    emailVerified: s.boolean().describe("Whether the provider has verified the e-mail address."),
    extraClaims: s
      .map(s.string())
      .describe("Claims of the provider that have no field of their own, as far as the login settings let them in."),
    groups: s.list(s.string()).describe("Groups that the provider tells."),
    connector: s.string().describe("Name of the connector that the user logged in with."),
    connectorData: s
      .string()
      .describe("What the connector needs for later requests, in base64. Kept encrypted, and never served."),
    identityRefresh: s.timestamp().describe("When the identity was last refreshed."),
  })
  .describe("What a single sign-on login told of the user.");

const oidcProvider = s
  .object({
    clientId: s.string().describe("Client that the token was made for."),
    nonce: s.string().describe("Nonce to use."),
    redirectUri: s.string().describe("Redirect URI to use."),
    scopes: s.string().describe("Scopes to use."),
  })
  .describe("Where the key is a refresh token: what it belongs to.");

const hiddenToken = (what: string) => s.string().describe(`${what}, in base64. Kept encrypted, and never served.`);

const oidcLogin = s
  .object({
    idToken: hiddenToken("The id token made at login"),
    accessToken: hiddenToken("The access token"),
    refreshToken: hiddenToken("The refresh token"),
    lastRefresh: s.timestamp().describe("When the id token was last refreshed."),
  })
  .deprecated("use spec.identity instead")
  .describe("Tokens of a single sign-on login.");

const spec = s.object({
  displayName: s.string().describe("Name to show to people."),
  description: s.string().describe("What the key is for."),
  user: s.string().describe("The user whom the key speaks for. Absent together with team and subject: the caller."),
  team: s.string().describe("The team that the key speaks for, instead of a user."),
  subject: s.string().describe("The subject that the key speaks for, instead of a user or a team."),
  groups: s
    .list(s.string())
    .describe("Groups that requests with the key are in besides the owner's own. Only those that the creator is in."),
  key: s
    .string()
    .describe(
      "The key itself, sent as a bearer token. Made by the server when absent; a value of one's own has at least 32 characters. Shown once, in the answer to the request that creates it. In an update, absent keeps the value and another one replaces it at once.",
    ),
  secretRef: s
    .object({
      namespace: s.string().describe("Namespace of the Secret, such as that of a project."),
      name: s
        .string()
        .describe("Name of the Secret. The server makes it, and refuses one that it did not make for this key."),
      key: s.string().describe("The member of its data that receives the value. Absent means key."),
    })
    .describe(
      "A Secret that receives the value of the key, and each value that a rotation makes. It goes with the key. Takes the right to create and update Secrets there, and cannot be changed once it is set.",
    ),
  disabled: s.boolean().describe("True: the key stays, but opens nothing."),
  ttl: s
    .int64({ minimum: 0 })
    .describe("Life of the key in seconds. 0 or absent: it has no end, unless the server sets one."),
  ttlAfterLastActivity: s
    .boolean()
    .describe("True: ttl counts from status.lastActivity, or from creation while the key is unused."),
  scope: accessKeyScope,
  rules: s
    .list(accessKeyRule)
    .deprecated("use spec.scope.projects, spec.scope.spaces and spec.scope.virtualClusters instead")
    .describe("Requests that the key opens. One rule has to match. Applies in addition to the scope."),
  allowPlatformCli: s
    .boolean()
    .deprecated("use spec.scope.roles instead")
    .describe("True: the scope also opens what the command line needs to read, as its role platform-cli does."),
  type: s
    .string({ enum: ACCESS_KEY_TYPES })
    .describe("Who looks after the key. Absent means User: a person or a program of theirs."),
  identity,
  identityRefresh: s
    .timestamp()
    .deprecated("use spec.identity.identityRefresh instead")
    .describe("When the identity was last refreshed."),
  oidcProvider,
  parent: s.string().deprecated("it has no effect").describe("Name of the key with whose login this one was made."),
  oidcLogin,
});

const fields = s
  .object({
    spec: spec.describe("What the key speaks for, how far it reaches and how long it lives."),
    status: s
      .object({
        lastActivity: s.timestamp().describe("When the key was last used, at most a minute behind. Absent: not yet."),
        expirationTimestamp: s
          .timestamp()
          .describe("When the key stops working if nothing changes. Absent: it has no end of its own."),
        conditions: conditionsField,
        issuedBy: issuedByField,
      })
      .describe("What the server knows of the key. Read-only."),
  })
  .describe("A credential for programs and people: what they send as a bearer token.");

export type OwnedAccessKey = KindOf<typeof fields>;
export type AccessKeySpec = Infer<typeof spec>;

/** With the member of spec.scope that existing clients know by the platform's name. */
export function accessKeySchema({ name }: PlatformNames): StructuralSchema {
  const { cliFlag } = restrictionNames(name);
  const schema = kindSchema(fields.schema);
  const flag = s.boolean().deprecated("use spec.scope.roles instead").describe("As spec.allowPlatformCli.").schema;
  return withProperty(schema, ["spec", "scope"], cliFlag, flag);
}

function withProperty(
  schema: StructuralSchema,
  [member, ...rest]: readonly string[],
  name: string,
  property: StructuralSchema,
): StructuralSchema {
  const key = member ?? name;
  const below = member === undefined ? property : withProperty(schema.properties?.[member] ?? {}, rest, name, property);
  return { ...schema, properties: { ...schema.properties, [key]: below } };
}
