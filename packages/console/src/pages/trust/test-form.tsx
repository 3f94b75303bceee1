// A form that asks the server about a token without using it, and the verdict. What is tested stays in the form.

import { useMutation } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { ErrorNotice } from "../../components/notice.tsx";
import { CheckList, type ShownCheck } from "./check-list.tsx";

type Verdict = { readonly accepted?: boolean; readonly checks?: readonly ShownCheck[] };

/** `ask` rejects with the error that is shown; `words`: the verdict in words; `children` renders what else it says. */
export function TestForm<T extends Verdict>(props: {
  readonly label: string;
  readonly hint: string;
  readonly submit: string;
  readonly isCard?: boolean;
  /** Whether there is nothing to test without a text. */
  readonly isRequired?: boolean;
  readonly ask: (text: string) => Promise<T>;
  readonly words: (isAccepted: boolean) => string;
  readonly children: (verdict: T) => ReactNode;
}) {
  const { label, hint, submit, isCard = false, isRequired = false, ask, words, children } = props;
  const [text, setText] = useState("");
  const test = useMutation({ gcTime: 0, mutationFn: () => ask(text.trim()) });
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    test.mutate();
  };
  const { accepted = false, checks = [] } = test.data ?? {};
  return (
    <form className={isCard ? "form card narrow" : "form narrow"} onSubmit={onSubmit}>
      <TextField
        label={label}
        value={text}
        onChange={(value) => {
          test.reset();
          setText(value);
        }}
        isMultiline
        isMonospace
        description={hint}
      />
      <div>
        <Button type="submit" isPending={test.isPending} isDisabled={isRequired && text.trim() === ""}>
          {submit}
        </Button>
      </div>
      <div aria-live="polite" className="stack">
        {test.isError && <ErrorNotice error={test.error} />}
        {test.data !== undefined && (
          <>
            <p>
              <Badge tone={accepted ? "good" : "bad"}>{words(accepted)}</Badge>
            </p>
            <CheckList checks={checks} />
            {children(test.data)}
          </>
        )}
      </div>
    </form>
  );
}
