// Asks for confirmation before an action with effects on other objects, and lists these effects.

import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { t } from "../../texts/text.tsx";
import { Button } from "../button.tsx";
import { ErrorNotice } from "../notice.tsx";
import { Dialog } from "./dialog.tsx";

export type ConfirmProps = {
  readonly title: string;
  /** One sentence each. */
  readonly consequences: readonly ReactNode[];
  readonly action: string;
  readonly isDangerous?: boolean;
  /** Default: true. */
  readonly isReady?: boolean;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** The dialog closes when it resolves, and shows the error when it rejects. Work of many steps reports how many are done. */
  readonly onConfirm: (report: (done: number, all: number) => void) => Promise<unknown>;
  readonly children?: ReactNode;
};

export function Confirm(props: ConfirmProps) {
  const {
    title,
    consequences,
    action,
    isDangerous = false,
    isReady = true,
    isOpen,
    onClose,
    onConfirm,
    children,
  } = props;
  const [steps, setSteps] = useState<{ readonly done: number; readonly all: number }>();
  const work = useMutation({
    mutationFn: () => onConfirm((done, all) => setSteps({ done, all })),
    onSuccess: onClose,
    onSettled: () => setSteps(undefined),
  });
  const close = (): void => {
    work.reset();
    onClose();
  };
  return (
    <Dialog title={title} isOpen={isOpen} onClose={close}>
      <ul className="consequences">
        {consequences.map((consequence, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change while it is shown
          <li key={at}>{consequence}</li>
        ))}
      </ul>
      {children}
      {steps !== undefined && (
        <p role="status">
          <progress aria-hidden="true" value={steps.done} max={steps.all} /> {t("state.steps", steps)}
        </p>
      )}
      {work.isError && <ErrorNotice error={work.error} />}
      <footer className="dialog-actions">
        <Button onPress={close}>{t("action.cancel")}</Button>
        <Button
          kind={isDangerous ? "danger" : "primary"}
          isPending={work.isPending}
          isDisabled={!isReady}
          onPress={() => work.mutate()}
        >
          {action}
        </Button>
      </footer>
    </Dialog>
  );
}
