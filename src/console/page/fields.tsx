import type { Similarity } from '../../client/browser.js';

interface SelectProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, text: string])[];
  readonly onChange: (value: Value) => void;
}

/** A choice with a label. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, value, options, onChange } = props;
  return (
    <label class="field">
      <span>{label}</span>
      <select
        value={value}
        onChange={({ currentTarget }) => {
          const chosen = options.find(([one]) => one === currentTarget.value);
          if (chosen !== undefined) onChange(chosen[0]);
        }}
      >
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

const SIMILARITIES: readonly (readonly [Similarity, string])[] = [
  ['Cosine', 'Cosine'],
  ['Euclidean', 'Euclidean'],
  ['Manhattan', 'Manhattan'],
  ['Hamming', 'Hamming'],
];

/** The similarity is one for all places of the page. */
export interface SimilarityProps {
  readonly similarity: Similarity;
  readonly onSimilarity: (similarity: Similarity) => void;
}

export function SimilaritySelect({ similarity, onSimilarity }: SimilarityProps) {
  return (
    <Select label="Similarity" value={similarity} options={SIMILARITIES} onChange={onSimilarity} />
  );
}

interface TextProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly placeholder?: string;
  readonly class?: string;
}

export function TextField({ label, value, onInput, placeholder, class: more = '' }: TextProps) {
  return (
    <label class={`field ${more}`}>
      <span>{label}</span>
      <input
        type="text"
        value={value}
        placeholder={placeholder}
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </label>
  );
}

/** A filter over metadata, as docs/FILTERS.md has it. */
export function FilterField(props: Pick<TextProps, 'value' | 'onInput'>) {
  return (
    <TextField
      {...props}
      label="Filter (JSON)"
      placeholder='{"lang": "en", "year": {"$gte": 2020}}'
      class="wide code"
    />
  );
}

interface NumberProps {
  readonly label: string;
  readonly value: string;
  readonly least: number;
  readonly onInput: (value: string) => void;
  readonly placeholder?: string;
}

export function NumberField({ label, value, least, onInput, placeholder }: NumberProps) {
  return (
    <label class="field short">
      <span>{label}</span>
      <input
        type="number"
        min={least}
        step={1}
        value={value}
        placeholder={placeholder}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </label>
  );
}

interface CheckboxProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function Checkbox({ label, checked, onChange }: CheckboxProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
