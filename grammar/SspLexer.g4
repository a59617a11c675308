// The words of a plan file. The last rule takes any character, so that lexing never fails; frontend/parse reports what it took.
lexer grammar SspLexer;

channels { DOC_CHANNEL }

// Reserved: these are never names.
SUM : 'sum';
MEAN : 'mean';
MAX : 'max';
MIN : 'min';
PROD : 'prod';
AND : 'and';
OR : 'or';
NOT : 'not';
TRUE : 'true';
FALSE : 'false';
INF : 'inf';

// Words with a meaning somewhere; `name` of the parser takes each of them as a name.
IMPORT : 'import';
OP : 'op';
GRAD : 'grad';
MODULE : 'module';
OPTIMIZER : 'optimizer';
MODEL : 'model';
SCHEDULE : 'schedule';
PLAN : 'plan';
DATA : 'data';
FEED : 'feed';
DEFAULT : 'default';
DIM : 'dim';
INPUT : 'input';
PARAM : 'param';
STATE : 'state';
BLOCK : 'block';
PASS : 'pass';
FOR : 'for';
IN : 'in';
IF : 'if';
ELSE : 'else';
LET : 'let';
RETURN : 'return';
MINIMIZE : 'minimize';
USING : 'using';
OVERRIDE : 'override';
UPDATE : 'update';
OUTPUT : 'output';
AS : 'as';
OVER : 'over';
USE : 'use';
MESH : 'mesh';
AT : 'at';
SHARD : 'shard';
SPLIT : 'split';
INTO : 'into';
CUTS : 'cuts';
FLAT : 'flat';
RECOMPUTE : 'recompute';
OFFLOAD : 'offload';
TO : 'to';
PRECISION : 'precision';
STAGES : 'stages';
STAGE : 'stage';
PLACE : 'place';
ON : 'on';
CHUNKS : 'chunks';
LOOP : 'loop';
FOLD : 'fold';
BALANCE : 'balance';
BY : 'by';
ORDER : 'order';
BEFORE : 'before';
LOWER : 'lower';
FUSE : 'fuse';
OVERLAP : 'overlap';
WITH : 'with';
BUCKET : 'bucket';
PREFETCH : 'prefetch';
OF : 'of';
KEEP : 'keep';
GATHERED : 'gathered';
RING : 'ring';
WHOLE : 'whole';
LANE : 'lane';
FROM : 'from';
ROWS : 'rows';
COMM : 'comm';

LPAREN : '(';
RPAREN : ')';
LBRACKET : '[';
RBRACKET : ']';
LBRACE : '{';
RBRACE : '}';
SEMICOLON : ';';
COLON : ':';
COMMA : ',';
DOTDOT : '..';
DOT : '.';
EQ : '==';
NE : '!=';
LE : '<=';
GE : '>=';
SHL : '<<';
SHR : '>>';
LT : '<';
GT : '>';
ASSIGN : '=';
CARET : '^';
PLUS : '+';
MINUS : '-';
STARSTAR : '**';
STAR : '*';
SLASH : '/';
PERCENT : '%';
AMP : '&';
HASH : '#';
BANG : '!';

// A number of bytes: `25 MB`, `2.5 GiB`.
SIZE : DIGITS ('.' DIGITS)? [ \t]* ('kB' | 'KB' | 'MB' | 'GB' | 'TB' | 'KiB' | 'MiB' | 'GiB' | 'TiB');
FLOAT : DIGITS '.' DIGITS EXPONENT? | DIGITS EXPONENT;
INT : DIGITS;
ID : [A-Za-z_] [A-Za-z0-9_]*;
STRING : '"' STRING_PART* '"';
OPEN_STRING : '"' STRING_PART*; // error: never longer than STRING, so it wins only where the closing quote is missing

DOC : '///' ~[\r\n]* -> channel(DOC_CHANNEL);
LINE_COMMENT : '//' ~[\r\n]* -> skip;
BLOCK_COMMENT : '/*' .*? '*/' -> skip;
OPEN_COMMENT : '/*' ('*'+ ~[*/] | ~'*')* '*'*; // error: shorter than BLOCK_COMMENT where that one matches
SPACE : [ \t\r\n\f]+ -> skip;
UNKNOWN : .; // error

fragment DIGITS : [0-9] [0-9_]*;
fragment EXPONENT : [eE] [+-]? [0-9]+;
fragment STRING_PART : '\\' ~[\r\n] | ~["\\\r\n];
