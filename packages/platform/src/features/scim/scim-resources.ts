// Users and teams as SCIM resources: User and Group.
// Source: RFC 7643 sections 4.1 and 4.2

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { objectOf, textOf } from "@postern/apimachinery/json/lenient-json";

export const USER_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User";
export const GROUP_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Group";

export type ScimType = {
  readonly name: "User" | "Group";
  readonly path: "Users" | "Groups";
  readonly schema: string;
  /** The resource of the management API. */
  readonly plural: "users" | "teams";
  readonly kind: "User" | "Team";
  /** The display name. */
  readonly title: "userName" | "displayName";
  toScim(object: JsonObject, base: string, domain: string): JsonObject;
  /** Applies a resource with typed values (`scim-values.ts`) to the object; other fields are kept. */
  fromScim(resource: JsonObject, object: JsonObject, domain: string): JsonObject;
};

const annotationOf = (domain: string): string => `${domain}/scim-external-id`;

export const SCIM_TYPES: readonly ScimType[] = [
  {
    name: "User",
    path: "Users",
    schema: USER_SCHEMA,
    plural: "users",
    kind: "User",
    title: "userName",
    toScim(object, base, domain) {
      const { spec, status } = partsOf(object);
      const { displayName, email } = spec;
      const name = nameOf(object);
      const parts = namePartsOf(object, domain);
      const formatted = joined(parts) || textOf(displayName);
      const teams = isJsonArray(status["teams"]) ? status["teams"] : [];
      return {
        ...common(object, USER_SCHEMA, "User", `${base}/Users/${name}`, domain),
        userName: textOf(spec["username"]) || name,
        active: spec["disabled"] !== true,
        ...(textOf(displayName) === "" ? {} : { displayName: textOf(displayName) }),
        ...(formatted === "" ? {} : { name: { formatted, ...parts } }),
        ...(textOf(email) === "" ? {} : { emails: [{ value: textOf(email), type: "work", primary: true }] }),
        groups: teams.map((team) => ({ value: textOf(team), $ref: `${base}/Groups/${textOf(team)}` })),
      };
    },
    fromScim(resource, object, domain) {
      const { metadata, spec } = partsOf(object);
      const { username: _, displayName: __, email: ___, disabled, ...others } = spec;
      const name = nameOf(object);
      const userName = textOf(resource["userName"]);
      const parts = namePartsIn(resource);
      const displayName = displayNameIn(resource, parts, textOf(spec["displayName"]), namePartsOf(object, domain));
      const email = emailIn(resource["emails"]);
      return {
        ...object,
        metadata: withNameParts(withExternalId(metadata, resource, domain), parts, domain),
        spec: {
          ...others,
          ...(userName === "" || userName === name ? {} : { username: userName }),
          ...(displayName === "" ? {} : { displayName }),
          ...(email === "" ? {} : { email }),
          ...(isDisabled(resource, disabled) ? { disabled: true } : {}),
        },
      };
    },
  },
  {
    name: "Group",
    path: "Groups",
    schema: GROUP_SCHEMA,
    plural: "teams",
    kind: "Team",
    title: "displayName",
    toScim(object, base, domain) {
      const { spec } = partsOf(object);
      const name = nameOf(object);
      const users = isJsonArray(spec["users"]) ? spec["users"] : [];
      return {
        ...common(object, GROUP_SCHEMA, "Group", `${base}/Groups/${name}`, domain),
        displayName: textOf(spec["displayName"]) || name,
        members: users.map((user) => ({
          value: textOf(user),
          ...(users.length > MAX_REFERENCES ? {} : { $ref: `${base}/Users/${textOf(user)}`, type: "User" }),
        })),
      };
    },
    fromScim(resource, object, domain) {
      const { metadata, spec } = partsOf(object);
      const members = isJsonArray(resource["members"]) ? resource["members"] : [];
      const users = members.map((member) => textOf(objectOf(member)["value"]));
      const displayName = textOf(resource["displayName"]);
      return {
        ...object,
        metadata: withExternalId(metadata, resource, domain),
        spec: {
          ...spec,
          ...(displayName === "" ? {} : { displayName }),
          users: [...new Set(users.filter((user) => user !== ""))],
        },
      };
    },
  },
];

/** References of more members would be many times as long as their names, in a group that has up to 200,000. */
const MAX_REFERENCES = 10_000;

export const nameOf = (object: JsonObject): string => textOf(partsOf(object).metadata["name"]);
const partsOf = ({ metadata, spec, status }: JsonObject) => ({
  metadata: objectOf(metadata),
  spec: objectOf(spec),
  status: objectOf(status),
});

function common(
  object: JsonObject,
  schema: string,
  resourceType: string,
  location: string,
  domain: string,
): JsonObject {
  const { metadata } = partsOf(object);
  const externalId = textOf(objectOf(metadata["annotations"])[annotationOf(domain)]);
  return {
    schemas: [schema],
    id: textOf(metadata["name"]),
    ...(externalId === "" ? {} : { externalId }),
    meta: { resourceType, created: textOf(metadata["creationTimestamp"]), lastModified: changedAt(metadata), location },
  };
}

/** Time of the last update, from managed fields. */
function changedAt({ creationTimestamp, managedFields }: JsonObject): string {
  const entries = (isJsonArray(managedFields) ? managedFields : []).filter(isJsonObject);
  return [textOf(creationTimestamp), ...entries.map(({ time }) => textOf(time))].toSorted().at(-1) ?? "";
}

function withExternalId(metadata: JsonObject, resource: JsonObject, domain: string): JsonObject {
  const externalId = textOf(resource["externalId"]);
  const { [annotationOf(domain)]: _, ...others } = objectOf(metadata["annotations"]);
  return {
    ...metadata,
    annotations: { ...others, ...(externalId === "" ? {} : { [annotationOf(domain)]: externalId }) },
  };
}

/** Stored in an annotation, since users have only a display name here. Directories read it back, and change parts of it. */
const NAME_PARTS = ["givenName", "middleName", "familyName"] as const;
const MAX_NAME_PART = 256;
const nameAnnotation = (domain: string): string => `${domain}/scim-name`;

type NameParts = { readonly [part in (typeof NAME_PARTS)[number]]?: string };

const namePartsIn = (resource: JsonObject): NameParts => partsOfName(objectOf(resource["name"]));

const partsOfName = (name: JsonObject): NameParts =>
  Object.fromEntries(
    NAME_PARTS.flatMap((part) => {
      const text = textOf(name[part]).slice(0, MAX_NAME_PART);
      return text === "" ? [] : [[part, text]];
    }),
  );

function namePartsOf(object: JsonObject, domain: string): NameParts {
  const text = textOf(objectOf(partsOf(object).metadata["annotations"])[nameAnnotation(domain)]);
  try {
    // All writers of users may write annotations.
    const value: JsonValue = text === "" ? {} : JSON.parse(text);
    return isJsonObject(value) ? partsOfName(value) : {};
  } catch {
    return {};
  }
}

function withNameParts(metadata: JsonObject, parts: NameParts, domain: string): JsonObject {
  const { [nameAnnotation(domain)]: _, ...others } = objectOf(metadata["annotations"]);
  const own = Object.keys(parts).length === 0 ? {} : { [nameAnnotation(domain)]: JSON.stringify(parts) };
  return { ...metadata, annotations: { ...others, ...own } };
}

const joined = (parts: NameParts): string => NAME_PARTS.flatMap((part) => parts[part] ?? []).join(" ");

/** A display name that was made of the parts of the name is updated with them. */
function displayNameIn(resource: JsonObject, parts: NameParts, before: string, partsBefore: NameParts): string {
  const asked = textOf(resource["displayName"]);
  if (asked !== "" && (asked !== before || before !== joined(partsBefore))) return asked;
  return joined(parts) || asked || textOf(objectOf(resource["name"])["formatted"]);
}

function emailIn(emails: JsonValue | undefined): string {
  const entries = (isJsonArray(emails) ? emails : []).filter(isJsonObject);
  const chosen =
    entries.find(({ primary }) => primary === true) ?? entries.find(({ type }) => type === "work") ?? entries[0];
  return textOf(chosen?.["value"]);
}

/** A directory that says nothing of `active` neither locks nor unlocks. */
const isDisabled = ({ active }: JsonObject, before: JsonValue | undefined): boolean =>
  active === undefined ? before === true : active !== true;
