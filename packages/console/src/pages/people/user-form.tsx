// Creates and edits a user: a person who signs in, or a bot with access keys.

import type { User } from "@postern/api/user";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { USERS } from "../../api/resources.ts";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { RadioField } from "../../components/forms/fields.tsx";
import { NameFields, type Names, NO_NAMES, namesOf } from "../../components/forms/name-fields.tsx";
import { formPages } from "../../components/forms/object-form.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { asLines, linesIn } from "../../format/text-lists.ts";
import { t } from "../../texts/text.tsx";

type Draft = Names & {
  readonly kind: "Person" | "Bot";
  readonly email: string;
  readonly username: string;
  /** One per line. */
  readonly groups: string;
};

const EMPTY: Draft = { ...NO_NAMES, kind: "Person", email: "", username: "", groups: "" };

const draftOf = (user: User): Draft => ({
  ...namesOf(user),
  kind: user.spec?.kind === "Bot" ? "Bot" : "Person",
  email: user.spec?.email ?? "",
  username: user.spec?.username ?? "",
  groups: asLines(user.spec?.groups),
});

const specOf = ({ kind, displayName, description, email, username, groups }: Draft): JsonObject =>
  withoutEmpty({
    kind: kind === "Bot" ? kind : "",
    displayName,
    description,
    email: email.trim(),
    username: username.trim(),
    groups: linesIn(groups),
  });

export const { New: NewUserPage, Edit: EditUserPage } = formPages<Draft, User>({
  page: "user",
  kind: "User",
  address: USERS,
  title: "user.new",
  lead: "user.new.lead",
  empty: EMPTY,
  draftOf,
  contentOf: (draft) => ({ spec: specOf(draft) }),
  paths: ["spec.kind", "spec.email", "spec.username", "spec.groups"],
  fieldsOf: ({ draft, isNew, errorAt, field, onChange }) => (
    <>
      <RadioField
        label={t("field.kind")}
        value={draft.kind}
        choices={[
          { id: "Person", label: t("user.kind.Person"), description: t("user.kind.Person.hint") },
          { id: "Bot", label: t("user.bot"), description: t("user.kind.Bot.hint") },
        ]}
        onChange={(kind) => onChange({ kind })}
      />
      <NameFields names={draft} isNew={isNew} errorAt={errorAt} onChange={onChange} />
      <TextField label={t("field.email")} {...field("email", "spec.email")} />
      <TextField
        label={t("field.username")}
        {...field("username", "spec.username")}
        description={t("user.username.hint")}
      />
      <TextField
        label={t("field.groups")}
        {...field("groups", "spec.groups")}
        description={t("user.groups.hint")}
        isMultiline
        isMonospace
      />
    </>
  ),
});
