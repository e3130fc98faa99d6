import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  { ignores: ['dist', 'node_modules'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: { allowDefaultProject: ['eslint.config.js'] } } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // What comes from a run may hold anything: it becomes text nodes and attributes, never markup.
      'no-restricted-properties': [
        'error',
        ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'srcdoc'].map((property) => ({
          property,
          message: 'text from a run directory must never be parsed as markup',
        })),
        { object: 'document', property: 'write' },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: 'never parse data as markup' },
      ],
      'no-restricted-globals': ['error', 'eval', 'Function'],
    },
  },
  {
    // Loops over millions of numbers, within the length of their columns: a test for what cannot be missing costs time there.
    files: ['src/data/{pairs,profile}.ts', 'src/draw/**', 'src/flame/**', 'src/pairs/**', 'src/program/**', 'src/space/**', 'src/timeline/**', 'src/views/{Profile,Program,Space,Timeline}.tsx', 'test/{space,timeline,canvas,profile,program}*'],
    rules: { '@typescript-eslint/no-non-null-assertion': 'off' },
  },
);
