// A dialog that adds a user or a team to a list of members.

import { useMutation } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { nameOf, TEAMS, USERS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { t } from "../../texts/text.tsx";
import { Button } from "../button.tsx";
import { SelectField } from "../forms/fields.tsx";
import { NameField } from "../forms/name-field.tsx";
import { ErrorNotice } from "../notice.tsx";
import { Dialog } from "./dialog.tsx";

export type MemberKind = "User" | "Team";

export function AddMember(props: {
  readonly title: string;
  /** With one kind, the dialog does not ask for it. Of several, it takes the one that has the name. */
  readonly kinds: readonly MemberKind[];
  readonly isMember: (kind: MemberKind, name: string) => boolean;
  readonly onAdd: (kind: MemberKind, name: string) => Promise<unknown>;
  readonly onClose: () => void;
  /** Further fields. */
  readonly children?: ReactNode;
}) {
  const { title, kinds, isMember, onAdd, onClose, children } = props;
  const [chosen, setChosen] = useState<MemberKind>();
  const [text, setText] = useState("");
  const name = text.trim();
  const isEither = kinds.length > 1;
  const users = useLive(USERS, { isWanted: isEither });
  const teams = useLive(TEAMS, { isWanted: isEither });
  const isTeamAlone =
    isEither && teams.items.some((team) => nameOf(team) === name) && !users.items.some((user) => nameOf(user) === name);
  const kind = chosen ?? (isTeamAlone ? "Team" : "User");
  const work = useMutation({ mutationFn: () => onAdd(kind, name), onSuccess: onClose });
  const isKnown = isMember(kind, name);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (name !== "" && !isKnown) work.mutate();
  };
  return (
    <Dialog isOpen title={title} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <NameField
          of={chosen === "Team" ? TEAMS : USERS}
          also={isEither && chosen === undefined ? TEAMS : undefined}
          label={t("field.name")}
          value={text}
          onChange={setText}
          isRequired
          autoFocus
          description={t(isEither ? "member.name.hint" : "member.user.hint")}
          error={isKnown ? t("member.already") : undefined}
        />
        {isEither && (
          <SelectField
            label={t("field.kind")}
            value={kind}
            choices={kinds.map((id) => ({ id, label: t(`member.kind.${id}`) }))}
            onChange={setChosen}
          />
        )}
        {children}
        {work.isError && <ErrorNotice error={work.error} />}
        <footer className="dialog-actions">
          <Button onPress={onClose}>{t("action.cancel")}</Button>
          <Button kind="primary" type="submit" isPending={work.isPending} isDisabled={name === "" || isKnown}>
            {t("action.add")}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
