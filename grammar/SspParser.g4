// The sentences of a plan file: language.md in grammar form. Each statement begins with its own word or is an assignment, so two
// tokens decide nearly everywhere; `expr` is one rule, tightest alternative first.
parser grammar SspParser;

options { tokenVocab = SspLexer; }

@parser::members {
    /// No space between the last token and the next: `b*` is one pattern, `b *` is two.
    bool adjacent() {
        return _input->LT(-1)->getStopIndex() + 1 == _input->LT(1)->getStartIndex();
    }
}

// ---- declarations ----

module : declaration* EOF;

declaration
    : importDecl | opDecl | gradDecl | moduleDecl | optimizerDecl | modelDecl | scheduleDecl | planDecl | dataDecl | feedDecl
    ;

importDecl : IMPORT (name (DOT name)* | STRING) SEMICOLON;
opDecl : OP name parameters body;
gradDecl : GRAD name parameters body;
moduleDecl : MODULE name parameters body;
optimizerDecl : OPTIMIZER name parameters body;
modelDecl : MODEL name parameters? body;
scheduleDecl : SCHEDULE name parameters? scheduleBody;
planDecl : DEFAULT? PLAN name parameters? FOR namedCall planBody;
dataDecl : DATA name ASSIGN expr SEMICOLON;
feedDecl : FEED dotted (COMMA dotted)* FROM expr (ROWS name)? SEMICOLON;

dotted : name (DOT name)*;
parameters : LPAREN (parameter (COMMA parameter)* COMMA?)? RPAREN;
parameter : OVER? name (COLON type)? (ASSIGN expr)?;
type : name axes? | LPAREN type (COMMA type)* RPAREN;
namedCall : name arguments?;
axes : LBRACKET nameList? RBRACKET;
nameList : name (COMMA name)*;

// ---- statements of models, modules, ops and optimizers ----

body : LBRACE statement* RBRACE;

statement
    : PARAM name (COLON name)? axes? (ASSIGN expr)? SEMICOLON      # paramStatement
    | INPUT name (COLON name)? axes? SEMICOLON                     # inputStatement
    | STATE name (COLON name)? axes? ASSIGN expr SEMICOLON         # stateStatement
    | DIM name ASSIGN expr SEMICOLON                               # dimStatement
    | LET name ASSIGN expr SEMICOLON                               # letStatement
    | BLOCK name blockIndex? body                                  # blockStatement
    | PASS name blockIndex? body                                   # passStatement
    | FOR name IN range body                                       # forStatement
    | IF expr body (ELSE IF expr body)* (ELSE body)?               # ifStatement
    | RETURN result (COMMA result)* SEMICOLON                      # returnStatement
    | MINIMIZE expr USING namedCall (COMMA argument)* SEMICOLON    # minimizeStatement
    | OVERRIDE namedCall onlyFor SEMICOLON                         # overrideStatement
    | UPDATE name USING namedCall SEMICOLON                        # updateStatement
    | OUTPUT expr SEMICOLON                                        # outputStatement
    | target ASSIGN expr SEMICOLON                                 # assignStatement
    | LPAREN target (COMMA target)* RPAREN ASSIGN expr SEMICOLON   # tupleAssignStatement
    ;

blockIndex : LBRACKET name IN range RBRACKET;
range : expr DOTDOT expr;
result : (name COLON)? expr;
target : name axes?;

// ---- expressions ----

expr
    : expr LBRACKET indexEntry (COMMA indexEntry)* RBRACKET        # indexExpr
    | expr DOT member                                              # memberExpr
    | expr arguments instanceName?                                 # callExpr
    | <assoc=right> expr CARET expr                                # binaryExpr
    | op=(MINUS | NOT) expr                                        # unaryExpr
    | expr op=(STAR | SLASH | PERCENT) expr                        # binaryExpr
    | reduceKind LBRACKET (STAR | nameList) RBRACKET expr          # reduceExpr
    | expr op=(PLUS | MINUS) expr                                  # binaryExpr
    | expr op=(SHL | SHR) expr                                     # binaryExpr
    | expr op=(EQ | NE | LT | LE | GT | GE) expr                   # binaryExpr
    | expr AND expr                                                # binaryExpr
    | expr OR expr                                                 # binaryExpr
    | (MAX | MIN) arguments                                        # extremeExpr
    | LPAREN expr (COMMA expr)* COMMA? RPAREN                      # parenExpr
    | name                                                         # nameExpr
    | literal                                                      # literalExpr
    ;

reduceKind : SUM | MEAN | MAX | MIN | PROD;
literal : INT | FLOAT | SIZE | STRING | TRUE | FALSE | INF;
member : name | reduceKind;
arguments : LPAREN (argument (COMMA argument)* COMMA?)? RPAREN;
argument
    : OVER name? COLON expr                                        # axisArgument
    | name COLON expr                                              # namedArgument
    | expr                                                         # plainArgument
    ;
instanceName : AS name (LBRACKET expr (COMMA expr)* RBRACKET)?;
indexEntry
    : name AS name                                                 # renameEntry
    | name AS LPAREN splitPart (COMMA splitPart)* RPAREN           # splitEntry
    | LPAREN nameList RPAREN AS name                               # mergeEntry
    | name ASSIGN expr (DOTDOT expr)? (ELSE expr)?                 # atEntry
    | name                                                         # axisEntry
    ;
splitPart : name (COLON expr)?;

// ---- selectors ----

onlyFor : FOR selectors;
selectors : selector (COMMA selector)*;
selector
    : (GRAD | UPDATE) path                                         # prefixedSelector
    | COMM LPAREN commItem (COMMA commItem)* RPAREN                # commSelector
    | path                                                         # taskSelector
    ;
commItem : (GRAD | UPDATE) path | path;
path : component (DOT component)* BANG?;
component : (STARSTAR | glob) componentIndex? (HASH INT)?;
componentIndex : LBRACKET (STAR | expr (DOTDOT expr)?) RBRACKET;
// Two words never touch, so only after a wild part does the space have to decide.
glob : globWord ({adjacent()}? globWild)* | globWild ({adjacent()}? globWild)*;
globWild : (STAR | LBRACE alternative (COMMA alternative)* RBRACE) ({adjacent()}? globWord)?;
globWord : word | INT;
alternative : alternativePiece ({adjacent()}? alternativePiece)*;
alternativePiece : word | INT | STAR;

// ---- plans ----

planBody : LBRACE planStatement* RBRACE;

planStatement
    : USE namedCall onlyFor? SEMICOLON                                             # useStatement
    | MESH name LBRACKET meshAxis (COMMA meshAxis)* RBRACKET (AT expr)? SEMICOLON  # meshStatement
    | SHARD nameList OVER meshAxisRef shardOption* onlyFor? SEMICOLON              # shardStatement
    | SPLIT name INTO expr onlyFor? SEMICOLON                                      # splitStatement
    | RECOMPUTE selectors onlyFor? SEMICOLON                                       # recomputeStatement
    | OFFLOAD selectors TO name onlyFor? SEMICOLON                                 # offloadStatement
    | PRECISION precision (COMMA precision)* onlyFor? SEMICOLON                    # precisionStatement
    | STAGES selectors OVER meshAxisRef stagesOption* onlyFor? SEMICOLON           # stagesStatement
    | STAGE selectors ON placement onlyFor? SEMICOLON                              # stageStatement
    | PLACE selectors ON placement onlyFor? SEMICOLON                              # placeStatement
    | SCHEDULE namedCall onlyFor? SEMICOLON                                        # useScheduleStatement
    | ORDER selectors BEFORE selectors onlyFor? SEMICOLON                          # orderStatement
    | LOWER selectors AS namedCall (PLUS namedCall)* onlyFor? SEMICOLON            # lowerStatement
    | FUSE selectors onlyFor? SEMICOLON                                            # fuseStatement
    | OVERLAP selectors overlapWith? (IN expr CHUNKS)? onlyFor? SEMICOLON          # overlapStatement
    | BUCKET name BY expr onlyFor? SEMICOLON                                       # bucketStatement
    | PREFETCH name OF selectors BY expr onlyFor? SEMICOLON                        # prefetchStatement
    | KEEP GATHERED selectors onlyFor? SEMICOLON                                   # keepStatement
    | RING name OVER meshAxisRef onlyFor? SEMICOLON                                # ringStatement
    | OUTPUT selectors WHOLE onlyFor? SEMICOLON                                    # outputWholeStatement
    | LET name ASSIGN expr SEMICOLON                                               # planLetStatement
    | FOR name IN range planBody                                                   # planForStatement
    | IF expr planBody (ELSE IF expr planBody)* (ELSE planBody)?                   # planIfStatement
    ;

meshAxis : name (COLON expr)?;
meshAxisRef : name (DOT name)?;
shardOption : CUTS exprList | WITH? FLAT;
exprList : LBRACKET expr (COMMA expr)* RBRACKET;
precision : name name;
stagesOption : CHUNKS expr (LOOP | FOLD)? | BALANCE BY name | BALANCE? CUTS exprList;
placement : name LBRACKET coordinate (COMMA coordinate)* RBRACKET;
coordinate : name ASSIGN (STAR | expr (DOTDOT expr)?);
overlapWith : WITH selectors;

// ---- schedules ----

scheduleBody : LBRACE scheduleStatement* RBRACE;

scheduleStatement
    : LANE name IN range scheduleBody                                              # laneStatement
    | LET name ASSIGN expr SEMICOLON                                               # scheduleLetStatement
    | FOR name IN range scheduleBody                                               # scheduleForStatement
    | IF expr scheduleBody (ELSE IF expr scheduleBody)* (ELSE scheduleBody)?       # scheduleIfStatement
    | blockCall (AMP blockCall)* SEMICOLON                                         # runStatement
    ;
blockCall : name arguments;

// ---- words ----

/// Every word that is not reserved.
name
    : ID | IMPORT | OP | GRAD | MODULE | OPTIMIZER | MODEL | SCHEDULE | PLAN | DATA | FEED | DEFAULT | DIM | INPUT |
      PARAM | STATE | BLOCK | PASS | FOR | IN | IF | ELSE | LET | RETURN | MINIMIZE | USING | OVERRIDE | UPDATE |
      OUTPUT | AS | OVER | USE | MESH | AT | SHARD | SPLIT | INTO | CUTS | FLAT | RECOMPUTE | OFFLOAD | TO |
      PRECISION | STAGES | STAGE | PLACE | ON | CHUNKS | LOOP | FOLD | BALANCE | BY | ORDER | BEFORE | LOWER | FUSE
      | OVERLAP | WITH | BUCKET | PREFETCH | OF | KEEP | GATHERED | RING | WHOLE | LANE | FROM | ROWS | COMM
    ;
/// A component of a path, where reserved words are names too: `attn.q.sum`.
word : name | SUM | MEAN | MAX | MIN | PROD | AND | OR | NOT | TRUE | FALSE | INF;
