// Creates an access key: beside the form, it describes the scope in words, and shows the manifest and the command. The value is shown once.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { Team } from "@postern/api/team";
import type { User } from "@postern/api/user";
import { createResourceClient } from "@postern/client/resource-client";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { stringify } from "yaml";
import { useApi } from "../../api/api-context.tsx";
import { ACCESS_KEYS, nameOf, TEAMS, USERS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { Code, DownloadButton } from "../../components/copy-text.tsx";
import { SelectField } from "../../components/fields.tsx";
import { ErrorNotice, Notice } from "../../components/notice.tsx";
import { PageHead, Section } from "../../components/page-head.tsx";
import { TextField } from "../../components/text-field.tsx";
import { nameFrom } from "../../format/name-from.ts";
import { t } from "../../texts/text.tsx";
import { commandOf, EMPTY_DRAFT, type KeyDraft, manifestOf } from "./key-draft.ts";
import { KeyLimits } from "./key-limits.tsx";
import { scopeOf } from "./scope-draft.ts";
import { ScopeList } from "./scope-list.tsx";
import { SecretValue } from "./secret-value.tsx";

export function NewKeyPage() {
  const api = useApi();
  const navigate = useNavigate();
  const [draft, setDraft] = useState<KeyDraft>(EMPTY_DRAFT);
  const [isNameOwn, setNameOwn] = useState(false);
  const set = (changes: Partial<KeyDraft>): void => setDraft((before) => ({ ...before, ...changes }));
  const create = useMutation({
    async mutationFn() {
      api.warnings.take();
      const keys = createResourceClient<OwnedAccessKey>(api.client, ACCESS_KEYS);
      const made = await keys.create(manifestOf(draft), { fieldValidation: "Strict", fieldManager: "console" });
      return { name: nameOf(made), value: made.spec?.key ?? "", warnings: api.warnings.take() };
    },
    // The response contains the value: only this component keeps it.
    gcTime: 0,
  });
  const scope = scopeOf(draft);
  const isEmpty = scope !== undefined && Object.keys(scope).length === 0;
  const texts = useMemo(() => ({ yaml: stringify(manifestOf(draft)), command: commandOf(draft) }), [draft]);
  if (create.data !== undefined) {
    const { name, value, warnings } = create.data;
    return (
      <>
        <PageHead above={<Link to="/keys">{t("keys.title")}</Link>} title={t("new.made", { name })} />
        <div className="card narrow">
          <SecretValue name={name} value={value} />
        </div>
        {warnings.map((text) => (
          <Notice key={text} tone="warn">
            {text}
          </Notice>
        ))}
        <div className="actions">
          <Button
            kind="primary"
            onPress={() => {
              create.reset();
              void navigate({ to: "/keys/$name", params: { name } });
            }}
          >
            {t("secret.stored")}
          </Button>
        </div>
      </>
    );
  }
  return (
    <>
      <PageHead above={<Link to="/keys">{t("keys.title")}</Link>} title={t("new.title")} lead={t("new.lead")} />
      <form
        className="beside"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <div className="form">
          <TextField
            label={t("new.displayName")}
            description={t("new.displayName.hint")}
            value={draft.displayName}
            onChange={(displayName) => set({ displayName, ...(isNameOwn ? {} : { name: nameFrom(displayName) }) })}
            autoFocus
          />
          <TextField
            label={t("new.name")}
            description={t("new.name.hint")}
            value={draft.name}
            onChange={(name) => {
              setNameOwn(name !== "");
              set({ name });
            }}
            isMonospace
          />
          <TextField
            label={t("new.description")}
            value={draft.description}
            onChange={(description) => set({ description })}
            isMultiline
          />
          <OwnerField draft={draft} onChange={set} />
          <KeyLimits draft={draft} onChange={set} />
          {isEmpty && <Notice tone="info">{t("new.scope.empty")}</Notice>}
          {create.isError && <ErrorNotice error={create.error} />}
          <div className="actions">
            <Button kind="primary" type="submit" isPending={create.isPending}>
              {t("new.submit")}
            </Button>
            <Link to="/keys" className="button quiet">
              {t("action.cancel")}
            </Link>
          </div>
        </div>
        <aside className="aside-panel">
          <Section title={t("new.preview")}>
            <ScopeList limits={{ scope }} />
          </Section>
          {texts.command !== undefined && <Code label={t("new.command")} text={texts.command} />}
          <Code
            label={t("new.yaml")}
            text={texts.yaml}
            actions={<DownloadButton text={texts.yaml} fileName={`${draft.name || "key"}.yaml`} />}
          />
        </aside>
      </form>
    </>
  );
}

/** The user, their teams, and others if the user may create keys for them. */
function OwnerField({
  draft,
  onChange,
}: {
  readonly draft: KeyDraft;
  readonly onChange: (changes: Partial<KeyDraft>) => void;
}) {
  const { session } = useApi();
  const users = useMay({ verb: "impersonate", group: "", resource: "users" });
  const teams = useLive<Team>(TEAMS);
  const others = useLive<User>(USERS, { isWanted: users.isAllowed });
  const choices = [
    { id: "me", label: t("new.owner.me", { name: session.displayName }) },
    ...teams.items.map((team) => ({
      id: `team/${nameOf(team)}`,
      label: t("new.owner.team", { name: team.spec?.displayName || nameOf(team) }),
    })),
    ...others.items
      .filter((user) => nameOf(user) !== session.user)
      .map((user) => ({ id: `user/${nameOf(user)}`, label: user.spec?.displayName || nameOf(user) })),
  ];
  if (choices.length === 1) return null;
  return (
    <SelectField
      label={t("new.owner")}
      value={draft.owner}
      choices={choices}
      onChange={(owner) => onChange({ owner })}
      description={t("new.owner.hint")}
    />
  );
}
